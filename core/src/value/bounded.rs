//! Bounds: reading within one, where what is larger is refused and never cut; and shares of one that
//! many have in common, where the first to come would else take all of it.

use std::io::{self, ErrorKind, Read};

/// Everything that comes, at most `most` bytes of it.
///
/// # Errors
/// Those of the reader, and one of [`ErrorKind::FileTooLarge`] where more comes.
pub fn read_at_most(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As of [`read_at_most`], and one of [`ErrorKind::InvalidData`] where it is no UTF-8.
pub fn read_text_at_most(from: impl Read, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read_at_most(from, most)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The part of what others have left that one may have.
const PART: u64 = 4;

/// Returns how much of a common bound one may have while others have `others` of it: a quarter of the rest, rounded up.
///
/// So one alone gets a quarter of it, and whoever has nothing gets something until nothing is left. Each who takes all that
/// he may leaves three quarters to the others: after ten of them, a twentieth of the bound is still there.
pub const fn share(bound: u64, others: u64) -> u64 {
    bound.saturating_sub(others).div_ceil(PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_read_whole_and_one_byte_more_is_refused() {
        assert_eq!(read_at_most(&b"1234"[..], 4).unwrap(), b"1234");
        assert_eq!(read_text_at_most(&b""[..], 0).unwrap(), "");
        let refused = read_text_at_most(&b"12345"[..], 4).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        assert_eq!(refused.to_string(), "it has more than 4 bytes");
        assert_eq!(read_text_at_most(&b"\xff"[..], 4).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    /// What each has after everyone, one after the other, has taken all that he may.
    fn taken_by_all(bound: u64, users: u64) -> Vec<u64> {
        let mut taken = Vec::new();
        for _ in 0..users {
            taken.push(share(bound, taken.iter().sum()));
        }
        taken
    }

    #[test]
    fn one_alone_gets_a_quarter() {
        for (bound, part) in [(1_000, 250), (16, 4), (5, 2), (1, 1), (0, 0)] {
            assert_eq!(share(bound, 0), part);
        }
        // A bound may fall from one release to the next.
        assert_eq!(share(10, 11), 0, "more are there than the bound of a later release");
    }

    #[test]
    fn whoever_has_nothing_gets_something_until_nothing_is_left() {
        for bound in 0..200 {
            for others in 0..=bound {
                assert_eq!(share(bound, others) > 0, others < bound);
            }
        }
    }

    #[test]
    fn those_who_take_all_they_may_leave_something_to_the_next() {
        let taken = taken_by_all(1_000, 10);
        assert!(taken.is_sorted_by(|one, next| one > next), "{taken:?}");
        assert!(1_000 - taken.iter().sum::<u64>() >= 50, "{taken:?}");
        assert!(taken_by_all(1_000, 1_000).iter().sum::<u64>() <= 1_000);
    }

    /// Nobody's share grows by what he takes himself, so the order of requests does not matter.
    #[test]
    fn what_one_has_does_not_change_the_own_share_and_more_of_others_makes_it_no_larger() {
        for others in 0..100 {
            assert!(share(100, others + 1) <= share(100, others));
        }
    }
}
