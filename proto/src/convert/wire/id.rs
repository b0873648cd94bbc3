//! Ids: UUIDs as text in the API, as 16 bytes in what is stored and what agents say.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use speedup_core::value::id::ExperimentId;
use uuid::Uuid;

use super::{field::no_longer, malformed::Malformed, malformed::Why};

/// The length of a UUID as text with its hyphens: the one form that is taken, so that equal ids are equal texts.
const UUID_TEXT_BYTES: usize = 36;

/// The bytes of an id.
pub fn id_bytes(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}

/// An id as text.
pub fn id_text(id: Uuid) -> String {
    id.hyphenated().to_string()
}

/// The experiment that a field of text names.
pub fn experiment_named(text: &str, field: &str) -> Result<ExperimentId, Malformed> {
    uuid(text, field).map(ExperimentId)
}

/// The UUID of a field of text.
pub fn uuid(text: &str, field: &str) -> Result<Uuid, Malformed> {
    match Uuid::try_parse(text) {
        Ok(id) if text.len() == UUID_TEXT_BYTES => Ok(id),
        Ok(_) | Err(_) => Err(Malformed::new(field, Why::no_uuid(text))),
    }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex_text(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// Reads the bytes of a field of hexadecimal digits, at most `most`.
pub fn hex_bytes(text: &str, most: usize, field: &str) -> Result<Vec<u8>, Malformed> {
    no_longer(text.len(), 2 * most, field)?;
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).map_err(|_| Malformed::new(field, Why::Hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_read_back_and_anything_else_is_refused_with_what_was_given() {
        let id = Uuid::from_u128(0x01a2_116e_db56_766b_9d82_ca90_072c_04f0);
        assert_eq!(uuid(&id_text(id), "experiment"), Ok(id));
        assert_eq!(uuid(&id_text(id).to_uppercase(), "experiment"), Ok(id));
        for (text, told) in [
            ("", "empty"),
            ("last", "\"last\""),
            ("01a2116edb56766b9d82ca90072c04f0", "ca90072c04f0\""),
            ("01a2116e-db56-766b-9d82-ca90072c04fx", "ca90072c04fx\""),
            ("\u{1b}[31m", "\"\u{fffd}[31m\""),
        ] {
            let error = uuid(text, "experiment").unwrap_err().to_string();
            assert!(error.starts_with("experiment: ") && error.contains(told), "{error}");
            assert!(error.contains("01a2116e-"), "an example: {error}");
        }
        assert!(uuid(&"é".repeat(1_000_000), "experiment").unwrap_err().to_string().len() < 400);
    }

    #[test]
    fn hexadecimal_digits_are_read_back_and_nothing_else() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(hex_bytes(&hex_text(&bytes), 256, "page_token"), Ok(bytes));
        for wrong in ["0", "zz", "+1", "é!", "000000"] {
            let error = hex_bytes(wrong, 2, "page_token").unwrap_err().to_string();
            assert!(error.starts_with("page_token: "), "{error}");
        }
    }
}
