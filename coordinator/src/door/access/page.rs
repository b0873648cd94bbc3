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

/// Where a page begins: tokens come first, then certificates, each by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageStart {
    Beginning,
    AfterToken(TokenId),
    AfterCertificate(Serial),
}

impl PageStart {
    /// The place that a page token names: it is the id of the last entry before, and those of the two kinds differ in length.
    fn parse(page_token: &str) -> Result<Self, Status> {
        let bytes = hex_bytes(page_token, TOKEN_ID_BYTES, "page_token")?;
        if bytes.is_empty() {
            return Ok(Self::Beginning);
        }
        let token = TokenId::from_bytes(&bytes).map(Self::AfterToken);
        let start = token.or_else(|| Serial::from_bytes(&bytes).map(Self::AfterCertificate));
        start.ok_or_else(|| {
            let words = "page_token: this is not a position in the list of certificates";
            Status::invalid_argument(with_hint(words, Some("give the next_page_token of a page, or none")))
        })
    }

    fn is_before_token(self, id: TokenId) -> bool {
        match self {
            Self::Beginning => true,
            Self::AfterToken(last) => last < id,
            Self::AfterCertificate(_) => false,
        }
    }

    fn is_before_certificate(self, serial: Serial) -> bool {
        match self {
            Self::Beginning | Self::AfterToken(_) => true,
            Self::AfterCertificate(last) => last < serial,
        }
    }
}

/// What a page may still hold.
struct Room {
    entries: usize,
    bytes: usize,
    is_empty: bool,
}

impl Room {
    /// Takes room for one more; a page has at least one.
    fn take(&mut self, bytes: usize) -> bool {
        let fits = self.entries > 0 && bytes <= self.bytes;
        if !fits && !self.is_empty {
            return false;
        }
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.is_empty = false;
        true
    }
}

/// One page. Without a size it has as many as fit, which for most pools is all.
pub(super) fn page(
    registry: &Registry,
    now: u64,
    request: &v1::ListAccessRequest,
) -> Result<v1::AccessList, Status> {
    let start = PageStart::parse(&request.page_token)?;
    let entries = if request.page_size == 0 { usize::MAX } else { request.page_size as usize };
    let mut room = Room { entries, bytes: PAGE_BYTES, is_empty: true };
    let mut page = v1::AccessList::default();
    // The id of the last entry is where the next page begins: what is added or ended meanwhile moves no other.
    let mut last = String::new();
    for (id, token) in registry.tokens(now) {
        if !start.is_before_token(id) {
            continue;
        }
        let status = token_status(id, token);
        if !room.take(status.encoded_len()) {
            page.next_page_token = last;
            return Ok(page);
        }
        page.tokens.push(status);
        last = hex_text(id.bytes());
    }
    for (serial, holder) in registry.certificates(now) {
        if !start.is_before_certificate(serial) {
            continue;
        }
        let status = certificate_status(serial, holder);
        if !room.take(status.encoded_len()) {
            page.next_page_token = last;
            return Ok(page);
        }
        page.certificates.push(status);
        last = serial.to_string();
    }
    Ok(page)
}
