//! Pages of tokens and certificates: a large pool has more of them than one message may hold.

use prost::Message as _;
use speedup_access::{Serial, TokenId};
use speedup_core::value::hint::with_hint;
use speedup_proto::convert::{hex_bytes, hex_text};
use speedup_proto::v1;
use tonic::Status;

use super::{TOKEN_ID_BYTES, certificate_status, token_status};
use crate::admission::Registry;
use crate::door::PAGE_BYTES;

/// One page: tokens, then certificates, each by its id, as many as fit, which for most pools is all.
pub(super) fn page(
    registry: &Registry,
    now: u64,
    request: &v1::ListAccessRequest,
) -> Result<v1::AccessList, Status> {
    // It is the id of the last entry of the page before: what is added or ended meanwhile moves no other. Those of the two kinds
    // differ in length.
    let start = hex_bytes(&request.page_token, TOKEN_ID_BYTES, "page_token")?;
    let after_token = TokenId::from_bytes(&start);
    let after_certificate = Serial::from_bytes(&start);
    if !start.is_empty() && after_token.is_none() && after_certificate.is_none() {
        let words = "page_token: this is not a position in the list of certificates";
        let hint = "give the next_page_token of a page, or none";
        return Err(Status::invalid_argument(with_hint(words, Some(hint))));
    }
    let mut page = v1::AccessList::default();
    let mut bytes = 0;
    let mut last = String::new();
    for (id, token) in registry.tokens(now) {
        if after_certificate.is_some() || after_token.is_some_and(|before| id <= before) {
            continue;
        }
        let status = token_status(id, token);
        bytes += status.encoded_len();
        if bytes > PAGE_BYTES {
            page.next_page_token = last;
            return Ok(page);
        }
        page.tokens.push(status);
        last = hex_text(id.bytes());
    }
    for (serial, holder) in registry.certificates(now) {
        if after_certificate.is_some_and(|before| serial <= before) {
            continue;
        }
        let status = certificate_status(serial, holder);
        bytes += status.encoded_len();
        if bytes > PAGE_BYTES {
            page.next_page_token = last;
            return Ok(page);
        }
        page.certificates.push(status);
        last = serial.to_string();
    }
    Ok(page)
}
