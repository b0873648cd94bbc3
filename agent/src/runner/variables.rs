//! The environment variables of a command, and the padding that gives them a size.

use std::{collections::BTreeMap, path::Path};

use speedup_core::experiment::environment::{PADDING, Setting, SizeChoice};
use speedup_core::run::conditions::Unmet;
use speedup_core::run::work::ResolvedCommand;

/// Where programs are looked for, unless the plan says otherwise: the same on every host.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment variables of a command. Those that software made are stronger, and those of the plan the strongest.
pub(super) fn variables(
    resolved: &ResolvedCommand,
    work: &Path,
    made: Option<BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let mut env = BTreeMap::from([
        ("HOME".to_owned(), work.to_string_lossy().into_owned()),
        ("PATH".to_owned(), PATH.to_owned()),
        ("TMPDIR".to_owned(), work.to_string_lossy().into_owned()),
    ]);
    env.extend(made.unwrap_or_default());
    env.extend(resolved.env.clone());
    env
}

/// Their size as `execve` counts them: names, values, and for each `=` and a final zero.
pub(super) fn size_of_variables(variables: &BTreeMap<String, String>) -> u64 {
    variables.iter().map(|(name, value)| (name.len() + value.len() + 2) as u64).sum()
}

/// Adds the variable that gives them the size that the plan wants.
pub(super) fn pad(
    variables: &mut BTreeMap<String, String>,
    size: SizeChoice,
    drawn: Option<u32>,
) -> Result<(), Unmet> {
    let own = size_of_variables(variables);
    let bytes = match size {
        SizeChoice::AsIs => return Ok(()),
        SizeChoice::Random(_) => u64::from(drawn.unwrap_or(0)),
        SizeChoice::Total(total) if u64::from(total) == own => return Ok(()),
        SizeChoice::Total(total) => {
            let frame = PADDING.len() as u64 + 2;
            u64::from(total).checked_sub(own + frame).ok_or_else(|| Unmet {
                setting: Setting::EnvSize,
                reason: format!("the variables take {own} bytes, and padding takes at least {frame} more"),
            })?
        }
    };
    let value = "x".repeat(usize::try_from(bytes).unwrap_or(0));
    variables.insert(PADDING.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(size: SizeChoice, drawn: Option<u32>) -> (u64, Result<(), Unmet>) {
        let mut variables = BTreeMap::from([("A".to_owned(), "12345".to_owned())]);
        let padded = pad(&mut variables, size, drawn);
        (size_of_variables(&variables), padded)
    }

    #[test]
    fn the_padding_fills_up_to_the_byte_or_says_why_not() {
        assert_eq!(padded(SizeChoice::AsIs, None), (8, Ok(())));
        assert_eq!(padded(SizeChoice::Total(8), None), (8, Ok(())), "it has that size already");
        let frame = PADDING.len() as u64 + 2;
        for total in [8 + frame, 9 + frame, 4_096] {
            let size = SizeChoice::Total(u32::try_from(total).unwrap());
            assert_eq!(padded(size, None), (total, Ok(())));
        }
        for total in [0, 7, 9, 7 + frame] {
            let (size, refused) = padded(SizeChoice::Total(u32::try_from(total).unwrap()), None);
            assert_eq!((size, refused.unwrap_err().setting), (8, Setting::EnvSize), "{total}");
        }
        assert_eq!(padded(SizeChoice::Random(100), Some(17)), (8 + frame + 17, Ok(())));
        assert_eq!(padded(SizeChoice::Random(100), Some(0)), (8 + frame, Ok(())));
    }
}
