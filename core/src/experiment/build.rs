//! Builds: compilations of a version that the plan repeats, because what a compiler makes need not be the same twice
//! (Kalibera and Jones 2012, §3). A build runs on a host like a run; what it makes travels by content from then on, and
//! which build a run used is part of the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::experiment::CommandLine;
use crate::experiment::files::{Content, MAX_FILE_BYTES};
use crate::run::record::Failure;
use crate::value::id::RunIndex;
use crate::value::time::Span;

/// Most builds of one version: published experiments have had a few dozen.
pub const MAX_BUILDS: u32 = 1_000;
/// Most builds of one experiment: all that they made is named in every checkpoint.
pub const MAX_ALL_BUILDS: u32 = 4_000;
/// Most products of one build: each is named with every run that uses the build.
pub const MAX_PRODUCTS: usize = 16;
/// Longest path of a product, relative to the working directory of its build.
pub const MAX_PRODUCT_PATH_BYTES: usize = 1_024;
/// What the placeholder of a product begins with: `{build.NAME}`.
pub const PREFIX: &str = "build.";
/// How long a build may last where the plan does not say.
pub const USUAL_TIMEOUT: Span = Span::from_secs(600);

/// How a version is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// What is executed; placeholders are still in place.
    pub command: CommandLine,
    /// How often, each time anew.
    pub builds: u32,
    /// What it makes: by the name between the braces of `{build.NAME}`, the path relative to its working directory.
    pub products: BTreeMap<String, String>,
    /// If it lasts longer it has failed.
    pub timeout: Span,
}

/// What a build made: a file that travels by content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// What commands call it: `{build.NAME}`.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

impl Product {
    /// The name between the braces of its placeholder.
    pub fn placeholder(&self) -> String {
        placeholder(&self.name)
    }
}

/// The build that a run uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedBuild {
    /// The run of the plan that built it.
    pub run: RunIndex,
    /// What it made, ascending by name.
    pub products: Vec<Product>,
}

/// The name between the braces of a product's placeholder.
pub fn placeholder(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Whether a path names something within the working directory of a build and nothing else: relative, and each of its
/// parts a name.
pub fn is_inside(path: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.len() <= MAX_PRODUCT_PATH_BYTES
        && path.split('/').all(is_name)
        && !path.chars().any(char::is_control)
}

impl Build {
    /// What keeps reported products from being those of this build: exactly the declared ones are.
    pub fn refuses(&self, products: &[Product]) -> Option<Failure> {
        let failure = |name: &str, reason: String| Some(Failure::NoProduct { name: name.to_owned(), reason });
        for (number, Product { name, content }) in products.iter().enumerate() {
            if !self.products.contains_key(name) {
                return failure(name, "the plan does not name it".to_owned());
            }
            if products[..number].iter().any(|earlier| earlier.name == *name) {
                return failure(name, "it was reported twice".to_owned());
            }
            if content.bytes > MAX_FILE_BYTES {
                let bytes = content.bytes;
                return failure(
                    name,
                    format!("it has {bytes} bytes, but at most {MAX_FILE_BYTES} are possible"),
                );
            }
        }
        let is_made = |name: &str| products.iter().any(|product| product.name == name);
        let lacking = self.products.keys().find(|name| !is_made(name))?;
        failure(lacking, "it was not reported".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::files::ContentHash;

    fn product(name: &str, bytes: u64) -> Product {
        let content = Content { blake3: ContentHash([1; 32]), bytes, executable: true };
        Product { name: name.to_owned(), content }
    }

    fn build(names: &[&str]) -> Build {
        Build {
            command: CommandLine::Shell("make".to_owned()),
            builds: 1,
            products: names.iter().map(|name| ((*name).to_owned(), format!("out/{name}"))).collect(),
            timeout: USUAL_TIMEOUT,
        }
    }

    #[test]
    fn exactly_the_declared_products_are_taken() {
        let build = build(&["lib", "prog"]);
        let refused = |products: &[Product]| match build.refuses(products) {
            Some(Failure::NoProduct { name, .. }) => Some(name),
            other => other.map(|failure| failure.words()),
        };
        assert_eq!(refused(&[product("prog", 1), product("lib", 2)]), None, "in any order");
        assert_eq!(refused(&[product("prog", 1)]), Some("lib".to_owned()));
        assert_eq!(refused(&[]), Some("lib".to_owned()));
        assert_eq!(refused(&[product("lib", 1), product("prog", 1), product("x", 1)]), Some("x".to_owned()));
        assert_eq!(
            refused(&[product("lib", 1), product("lib", 1), product("prog", 1)]),
            Some("lib".to_owned())
        );
        assert_eq!(refused(&[product("lib", 1), product("prog", u64::MAX)]), Some("prog".to_owned()));
    }

    #[test]
    fn a_path_stays_in_the_working_directory() {
        for good in ["prog", "out/prog", "a/b/c.so", ".hidden", "a b", "..a"] {
            assert!(is_inside(good), "{good}");
        }
        let long = "x".repeat(MAX_PRODUCT_PATH_BYTES + 1);
        for bad in
            ["", "/prog", "../prog", "out/../prog", "out//prog", "out/", "./prog", "a\0", "a\nb", &long]
        {
            assert!(!is_inside(bad), "{bad:?}");
        }
    }
}
