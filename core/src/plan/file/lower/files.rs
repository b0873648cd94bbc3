//! From `[files]` as it is written to staged files with their hashes.

use std::collections::BTreeMap;

use super::Lowering;
use crate::experiment::KeyPath;
use crate::experiment::files::{Content, ContentHash, FileSource, StagedFile};
use crate::plan::file::form::FileForm;
use crate::plan::file::look::{PlanLook, UNSEEN, WantedAt, WantedFile};

impl Lowering<'_> {
    /// The staged files, as the author ordered them.
    pub(super) fn files(
        &mut self,
        forms: BTreeMap<String, FileForm>,
        look: &mut dyn PlanLook,
    ) -> Vec<StagedFile> {
        let in_order = self.in_order(&["files"], forms).into_iter();
        in_order.map(|(name, form)| self.file(name, form, look)).collect()
    }

    fn file(&mut self, name: String, form: FileForm, look: &mut dyn PlanLook) -> StagedFile {
        let place = KeyPath::from(["files", &name]);
        let at = match self.where_it_is(&place, form) {
            Ok(at) => at,
            Err(source) => return StagedFile { name, source },
        };
        let wanted = WantedFile { name, at };
        let source = look.file(&wanted).unwrap_or_else(|unusable| {
            self.note(&wanted.place(), || (unusable.cause, unusable.hint));
            unseen()
        });
        StagedFile { name: wanted.name, source }
    }

    /// Where to look for a file; or what it is, where nobody has to look or can.
    fn where_it_is(&mut self, place: &KeyPath, form: FileForm) -> Result<WantedAt, FileSource> {
        let FileForm { path, executable, shared, blake3 } = form;
        match (path, shared) {
            (Some(path), None) => {
                if blake3.is_some() {
                    self.stray(place, "blake3", "shared");
                }
                Ok(WantedAt::Here { path, executable })
            }
            (None, Some(path)) => {
                if executable {
                    self.stray(place, "executable", "path");
                }
                // Whoever gives the hash spares the look at a file that may not be here.
                let Some(text) = blake3 else { return Ok(WantedAt::Shared { path }) };
                let hint = "write the 64 hexadecimal digits that b3sum prints for the file";
                let hash = ContentHash::from_hex(&text);
                let hash = self.readable(hash, &text, &place.at("blake3"), "is not a BLAKE3 hash", hint);
                Err(FileSource::Shared { path, blake3: hash.unwrap_or(UNSEEN), bytes: None })
            }
            (Some(_), Some(_)) => {
                self.note(&place.at("shared"), || {
                    let hint = "keep `path` to send the file's content, or `shared` to use the hosts' own";
                    (format!("[{place}] has both `path` and `shared`"), hint.to_owned())
                });
                Err(unseen())
            }
            (None, None) => {
                self.note(place, || {
                    let hint = "write path = \"data/words.txt\", or shared = \"/shared/words.txt\"";
                    (format!("[{place}] has neither `path` nor `shared`"), hint.to_owned())
                });
                Err(unseen())
            }
        }
    }

    pub(super) fn stray(&mut self, place: &KeyPath, key: &str, needs: &str) {
        self.note(&place.at(key), || {
            let cause = format!("`{key}` says nothing without `{needs}`");
            (cause, format!("remove `{key}`, or write `{needs}`"))
        });
    }
}

fn unseen() -> FileSource {
    FileSource::Content(Content { blake3: UNSEEN, bytes: 0, executable: false })
}
