//! The options of `ssh` that a user gives. Those stand here that say how a host is reached; whatever executes programs of this
//! machine, writes its files, or decides whom to trust is left to the configuration of the coordinator's user.

use thiserror::Error;

/// Most options: a command line that a person wrote has a few.
const MAX_OPTIONS: usize = 64;
const MAX_OPTION_BYTES: usize = 4_096;
/// Those without a value.
const FLAGS: [&str; 3] = ["-4", "-6", "-C"];
const VALUED: [&str; 6] = ["-J", "-b", "-c", "-i", "-m", "-p"];
/// What `-o` may set; ssh does not tell capital letters from small ones.
const KEYWORDS: &str = "addressfamily bindaddress bindinterface casignaturealgorithms certificatefile ciphers compression \
    connectionattempts connecttimeout gssapiauthentication hostbasedauthentication hostkeyalgorithms \
    identitiesonly identityagent identityfile ipqos kexalgorithms macs port preferredauthentications \
    proxyjump pubkeyacceptedalgorithms pubkeyauthentication rekeylimit serveralivecountmax \
    serveraliveinterval tcpkeepalive";

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum SshOptionsError {
    /// It is not among those that may be given.
    #[error(
        "option {0:?} of ssh is not accepted here: those are that say how a host is reached (-p, -i, -J, -o Port=…, -o ProxyJump=… and \
         the like); what executes programs of the coordinator's machine, writes its files or decides whom to trust belongs into the \
         ssh configuration of the coordinator's user"
    )]
    Unknown(String),
    #[error("{0} comes last, but needs a value")]
    NoValue(String),
    #[error("at most {MAX_OPTIONS} options of {MAX_OPTION_BYTES} bytes each are allowed")]
    TooMany,
    /// Its value could be read as something else.
    #[error("the value {value:?} of {option} holds a character that no such value has")]
    Value { option: String, value: String },
}

pub(crate) fn check(given: &[String]) -> Result<(), SshOptionsError> {
    if given.len() > MAX_OPTIONS || given.iter().any(|word| word.len() > MAX_OPTION_BYTES) {
        return Err(SshOptionsError::TooMany);
    }
    let mut words = given.iter();
    while let Some(word) = words.next() {
        if FLAGS.contains(&word.as_str()) {
            continue;
        }
        let (option, attached) = word.split_at_checked(2).unwrap_or((word, ""));
        let is_keyword = option == "-o";
        if !is_keyword && !VALUED.contains(&option) {
            return Err(SshOptionsError::Unknown(word.clone()));
        }
        let value = match attached {
            "" => words.next().ok_or_else(|| SshOptionsError::NoValue(option.to_owned()))?,
            attached => attached,
        };
        if is_keyword {
            // ssh also takes a blank between name and value, and nobody needs it.
            let (name, value) =
                value.split_once('=').ok_or_else(|| SshOptionsError::Unknown(format!("-o {value}")))?;
            if !KEYWORDS.split(' ').any(|known| known.eq_ignore_ascii_case(name)) {
                return Err(SshOptionsError::Unknown(format!("-o {name}")));
            }
            check_value(name, value)?;
        } else {
            check_value(option, value)?;
        }
    }
    Ok(())
}

/// Of a jump ssh makes a command for a shell, so none has what a shell reads otherwise.
fn check_value(option: &str, value: &str) -> Result<(), SshOptionsError> {
    let is_jump = option == "-J" || option.eq_ignore_ascii_case("proxyjump");
    let fits = match is_jump {
        true => value.chars().all(|c| c.is_ascii_alphanumeric() || "._-:@,/[]".contains(c)),
        false => !value.chars().any(char::is_control),
    };
    if value.is_empty() || is_jump && value.starts_with('-') || !fits {
        return Err(SshOptionsError::Value { option: option.to_owned(), value: value.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(words: &[&str]) -> Result<(), SshOptionsError> {
        check(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn how_a_host_is_reached_is_the_users_to_say() {
        let words = [
            "-p",
            "2222",
            "-i/home/a/key",
            "-J",
            "a@gate:22,b",
            "-4",
            "-o",
            "IdentitiesOnly=yes",
            "-oPort=7",
        ];
        assert_eq!(checked(&words), Ok(()));
    }

    #[test]
    fn what_executes_writes_or_trusts_is_refused() {
        let unknown = [
            &["-F", "x"][..],
            &["-o", "ForwardAgent=yes"],
            &["-o", "Port 7"],
            &["-o", "=x"],
            &["-E", "x"],
            &["-S", "x"],
            &["-L", "1:a:2"],
            &["-v"],
            &["-A"],
            &["node1"],
            &["--"],
            &["-"],
            &["ä"],
            &["-o", "ProxyCommand=touch x"],
            &["-o", "proxycommand touch x"],
            &["-o", "LocalCommand\t=x"],
            &["-oHOSTNAME=other"],
            &["-oUserKnownHostsFile=/dev/null"],
            &["-oStrictHostKeyChecking=no"],
        ];
        for words in unknown {
            assert!(matches!(checked(words), Err(SshOptionsError::Unknown(_))), "{words:?}");
        }
        assert_eq!(checked(&["-p"]), Err(SshOptionsError::NoValue("-p".to_owned())));
        assert_eq!(checked(&vec!["-4"; 65]), Err(SshOptionsError::TooMany));
        for words in [["-J", "a;b"], ["-J", "-x"], ["-o", "ProxyJump=$(x)"], ["-i", "a\nb"], ["-p", ""]] {
            assert!(matches!(checked(&words), Err(SshOptionsError::Value { .. })), "{words:?}");
        }
    }
}
