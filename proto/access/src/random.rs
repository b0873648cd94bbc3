//! Random bytes that nobody can foresee.

use rustls::crypto::ring;

/// Fresh random bytes.
///
/// # Panics
/// When the kernel has none to give, which it always has.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    ring::default_provider().secure_random.fill(&mut bytes).expect("the kernel's random numbers");
    bytes
}
