//! Plans that are read and plans that are refused.
use super::*;
#[test]
fn show_schema() {
    println!("{}", serde_json::to_string_pretty(&schema()).unwrap());
}
