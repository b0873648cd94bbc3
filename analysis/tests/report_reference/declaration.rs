//! Declarations of types as they stand in the formatted source: enough of the grammar for what is serialised.

/// A struct or an enum.
pub(crate) struct Declaration {
    pub(crate) name: String,
    /// Its first words.
    pub(crate) words: String,
    pub(crate) body: Body,
}

/// What a type holds.
pub(crate) enum Body {
    Fields(Vec<Field>),
    /// One value, as which it is written.
    Newtype(String),
    /// Variants, in an object with a tag or, where none holds anything, as words.
    Variants {
        /// The field that says which.
        tag: Option<String>,
        variants: Vec<Variant>,
    },
}

pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) of: String,
    pub(crate) words: String,
}

pub(crate) struct Variant {
    /// Its name in JSON.
    pub(crate) name: String,
    pub(crate) words: String,
    pub(crate) fields: Vec<Field>,
}

impl Declaration {
    /// All fields, those of variants too.
    pub(crate) fn fields(&self) -> Box<dyn Iterator<Item = &Field> + '_> {
        match &self.body {
            Body::Fields(fields) => Box::new(fields.iter()),
            Body::Newtype(_) => Box::new(std::iter::empty()),
            Body::Variants { variants, .. } => Box::new(variants.iter().flat_map(|variant| &variant.fields)),
        }
    }
}

/// What stands before an item: its comment, and its attributes.
#[derive(Default)]
struct Before {
    words: Vec<String>,
    attributes: String,
}

impl Before {
    /// Whether the line belongs to it.
    fn takes(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(words) = line.strip_prefix("///") {
            self.words.push(words.trim().to_owned());
        } else if line.starts_with("#[") {
            self.attributes.push_str(line);
        } else {
            return false;
        }
        true
    }

    /// The comment up to its example.
    fn words(&self) -> String {
        let said = self.words.split(|line| line == "```").next().unwrap_or_default();
        let words = said.join(" ").trim_end().replace("[`", "`").replace("`]", "`");
        let words = words.replace("`None`", "null");
        words.replace('|', "\\|").replace('<', "&lt;")
    }

    fn skipped(&self) -> bool {
        self.attributes.contains("serde(skip)")
    }

    fn tag(&self) -> Option<String> {
        let (_, rest) = self.attributes.split_once("tag = \"")?;
        rest.split_once('"').map(|(tag, _)| tag.to_owned())
    }
}

/// The serialised types of a file.
pub(crate) fn all(source: &str) -> Vec<Declaration> {
    let mut found = Vec::new();
    let mut before = Before::default();
    // In `words!` stands an item further in.
    let mut lines = source.lines().map(|line| match line.strip_prefix("    ") {
        Some(inner) if inner.starts_with("pub enum ") || inner == "}" => inner,
        Some(_) | None => line,
    });
    while let Some(line) = lines.next() {
        if before.takes(line) {
            continue;
        }
        let about = std::mem::take(&mut before);
        let item = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
        let Some(item) = item.filter(|_| about.attributes.contains("Serialize")) else { continue };
        let name: String = item.chars().take_while(|sign| sign.is_alphanumeric() || *sign == '_').collect();
        if name.ends_with("Code") {
            continue; // Codes are words of which there are too many for a table.
        }
        let body = match item[name.len()..].trim() {
            "{" => {
                let lines: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
                if line.starts_with("pub enum") {
                    Body::Variants { tag: about.tag(), variants: variants(&lines) }
                } else {
                    Body::Fields(fields(&lines))
                }
            }
            tuple => match tuple.strip_prefix('(').and_then(|rest| rest.strip_suffix(");")) {
                Some(of) => {
                    Body::Newtype(of.trim_start_matches("pub ").trim_start_matches("pub(crate) ").to_owned())
                }
                None => continue,
            },
        };
        found.push(Declaration { name, words: about.words(), body });
    }
    found
}

fn fields(lines: &[&str]) -> Vec<Field> {
    let mut found = Vec::new();
    let mut before = Before::default();
    for line in lines {
        if before.takes(line) {
            continue;
        }
        let about = std::mem::take(&mut before);
        let line = line.trim().trim_end_matches(',');
        let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        if let Some((name, of)) = line.split_once(": ").filter(|_| !about.skipped()) {
            found.push(Field { name: name.to_owned(), of: of.to_owned(), words: about.words() });
        }
    }
    found
}

fn variants(lines: &[&str]) -> Vec<Variant> {
    let mut found = Vec::new();
    let mut before = Before::default();
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        if before.takes(line) {
            continue;
        }
        let about = std::mem::take(&mut before);
        let line = line.trim();
        let name: String = line.chars().take_while(|sign| sign.is_alphanumeric()).collect();
        if name.is_empty() {
            continue;
        }
        let fields = if line.ends_with('{') {
            let own: Vec<&str> = lines.by_ref().copied().take_while(|line| line.trim() != "},").collect();
            fields(&own)
        } else {
            let held = line.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
            let held =
                held.map(|(of, _)| Field { name: "…".to_owned(), of: of.to_owned(), words: String::new() });
            held.into_iter().collect()
        };
        found.push(Variant { name: snake(&name), words: about.words(), fields });
    }
    found
}

/// `NotNormalLarge` as `not_normal_large`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for sign in name.chars() {
        if sign.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(sign.to_lowercase());
    }
    snake
}
