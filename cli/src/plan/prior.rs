//! The prior of a bisection by the files that its commits change: from the user's words to a weight of each commit.

use std::path::{Component, Path, PathBuf};

use anyhow::anyhow;
use speedup_core::experiment::commit::Commit;
use speedup_core::experiment::prior::{LinePrior, MAX_PRIOR_PATHS, MAX_PRIOR_WEIGHT, PathWeight};

use crate::{exit::failure::Failure, plan::repository::Repository};

/// `PATH=WEIGHT`, as `src/codec=5`.
pub(crate) fn path_weight(text: &str) -> Result<PathWeight, String> {
    let (path, weight) = text.rsplit_once('=').ok_or("write PATH=WEIGHT, such as src/codec=5")?;
    let weight = weight.trim().parse().map_err(|_| format!("{weight:?} is no number"))?;
    let of = PathWeight { path: path.to_owned(), weight };
    if of.is_sound() {
        return Ok(of);
    }
    Err(format!("a path is not empty, and a weight is above 0 and at most {MAX_PRIOR_WEIGHT}"))
}

/// The prior of a line; none where no path was named.
pub(crate) fn weigh_line(
    asked: &[PathWeight],
    repository: &Repository,
    line: &[Commit],
) -> Result<Option<LinePrior>, Failure> {
    if asked.is_empty() {
        return Ok(None);
    }
    if asked.len() > MAX_PRIOR_PATHS {
        let text = format!("{} paths have weights, and at most {MAX_PRIOR_PATHS} may", asked.len());
        return Err(Failure::usage(anyhow!(text)).hint("name directories instead of files"));
    }
    let paths: Result<Vec<PathWeight>, Failure> = asked
        .iter()
        .map(|PathWeight { path, weight }| {
            let whole = from_top(repository.prefix(), path).ok_or_else(|| {
                let text = format!("--prior {path}={weight} names no file or directory in the repository");
                Failure::usage(anyhow!(text))
                    .hint("paths are relative to the repository that the plan names, as those after --")
            })?;
            Ok(PathWeight { path: whole, weight: *weight })
        })
        .collect();
    // A commit weighs by what it changes against the one before it in the line.
    let changed: Result<Vec<_>, _> =
        line.windows(2).map(|pair| repository.changed(&pair[0], &pair[1])).collect();
    let prior = LinePrior::by_changes(paths?, &changed?).map_err(|unchanged| {
        Failure::usage(unchanged)
            .hint("`git log --stat GOOD..BAD` shows what each commit of the range changes")
    })?;
    Ok(Some(prior))
}

/// A path below `prefix` as Git names files: from the top of the working tree. None outside of it, and for all of it.
fn from_top(prefix: &Path, path: &str) -> Option<String> {
    let mut whole = PathBuf::new();
    for component in prefix.join(path).components() {
        match component {
            Component::Normal(name) => whole.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !whole.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    whole.to_str().filter(|path| !path.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_what_follows_the_last_equals_sign() {
        let parsed = path_weight("src/a=b=2.5").unwrap();
        assert_eq!((parsed.path.as_str(), parsed.weight), ("src/a=b", 2.5));
        for bad in ["src", "=2", "src=", "src=x", "src=0", "src=-1", "src=1001", "src=inf", "src=nan"] {
            assert!(path_weight(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_are_from_the_top_of_the_repository() {
        let whole = |prefix: &str, path: &str| from_top(Path::new(prefix), path);
        assert_eq!(whole("", "src/codec/").as_deref(), Some("src/codec"));
        assert_eq!(whole("sub/", "./a").as_deref(), Some("sub/a"));
        assert_eq!(whole("sub/", "../docs").as_deref(), Some("docs"));
        for (prefix, path) in [("", "."), ("", ".."), ("sub/", ".."), ("sub/", "../../x"), ("", "/etc")] {
            assert_eq!(whole(prefix, path), None, "{prefix} {path}");
        }
    }
}
