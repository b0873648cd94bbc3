//! exp and ln that the compiler turns into vector instructions.
//!
//! Both are straight lines of additions and multiplications without a table or a branch, so that a loop over them is
//! vectorised and every width of vector, on every processor, gives the same bits: nothing is fused. The polynomials
//! interpolate at Chebyshev nodes; their relative errors are below 2e-17 before rounding.

use std::f64::consts::{LN_2, LOG2_E};

/// 1.5·2⁵²: adding it rounds a number to the nearest integer, which then stands in the lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// The upper bits of ln 2: products with integers up to 2²¹ are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
/// ln 2 less [`LN_2_HIGH`].
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Up to here [`exp`] is zero. Products with smaller results would not be normal numbers, for which processors take a
/// hundred cycles.
const LEAST_EXPONENT: f64 = -690.0;

/// eˣ for x ≤ 709, within 2 units of the last place; zero up to [`LEAST_EXPONENT`].
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let shifted = x * LOG2_E + ROUNDER;
    let integer = shifted - ROUNDER;
    let r = (x - integer * LN_2_HIGH) - integer * LN_2_LOW;
    let r2 = r * r;
    let r4 = r2 * r2;
    let a = (0.500_000_000_000_000_1 + r * 0.166_666_666_666_666_69)
        + r2 * (0.041_666_666_666_624_164 + r * 0.008_333_333_333_330_065);
    let b = (0.001_388_888_891_719_671_9 + r * 0.000_198_412_698_630_405_45)
        + r2 * (2.480_152_132_236_869_2e-5 + r * 2.755_726_848_031_002_4e-6);
    let c = 2.762_007_587_998_336_7e-7 + r * 2.510_037_583_256_123_4e-8;
    let mantissa = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
    let bits = mantissa.to_bits().wrapping_add(shifted.to_bits() << 52);
    f64::from_bits(if x > LEAST_EXPONENT { bits } else { 0 })
}

/// ln x for a positive normal number, within 6e-16 of max(1, |ln x|).
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    const SQRT_HALF_BITS: u64 = 0x3FE6_A09E_667F_3BCD;
    const MANTISSA: u64 = 0x000F_FFFF_FFFF_FFFF;
    // The exponent that leaves the mantissa in [√½, √2).
    let offset = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let exponent = exponent_of(offset);
    let m = f64::from_bits((offset & MANTISSA).wrapping_add(SQRT_HALF_BITS));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let z2 = z * z;
    let z4 = z2 * z2;
    let a = (0.666_666_666_666_666_6 + z * 0.400_000_000_000_008_8)
        + z2 * (0.285_714_285_708_036_14 + z * 0.222_222_223_917_139_17);
    let b = (0.181_817_956_401_329_06 + z * 0.153_862_397_028_146_58)
        + z2 * (0.132_687_731_386_568_86 + z * 0.130_866_261_478_401_02);
    2.0 * s + (s * z * (a + z4 * b) + exponent * LN_2)
}

/// The signed exponent in the upper 12 bits, as a number, without a conversion from integers: baseline processors have
/// no vector instruction for that.
#[inline(always)]
fn exponent_of(bits: u64) -> f64 {
    /// 2⁵², whose lowest bit is worth 1.
    const UNIT: u64 = 0x4330_0000_0000_0000;
    /// Makes the exponent positive.
    const BIAS: u64 = 2048;
    let biased = (bits >> 52).wrapping_add(BIAS) & 0xFFF;
    f64::from_bits(UNIT | biased) - (4_503_599_627_370_496.0 + BIAS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_that_of_the_library() {
        for i in 0..200_000 {
            let x = LEAST_EXPONENT * f64::from(i) / 200_001.0 + 0.01 * f64::from(i % 7);
            let got = exp(x);
            let expected = libm::exp(x);
            assert!((got / expected - 1.0).abs() < 5e-16, "exp {x}: {got:e} against {expected:e}");
        }
        assert_eq!(exp(0.0), 1.0);
        for far in [LEAST_EXPONENT, -750.0, -1e308, f64::NEG_INFINITY] {
            assert_eq!(exp(far), 0.0);
        }
    }

    #[test]
    fn ln_is_that_of_the_library() {
        let mut x = f64::MIN_POSITIVE;
        while x < 1e300 {
            let got = ln(x);
            let expected = libm::log(x);
            assert!((got - expected).abs() <= 6e-16 * expected.abs().max(1.0), "ln {x:e}: {got} {expected}");
            x *= 1.003_7;
        }
        assert_eq!(ln(1.0), 0.0);
    }
}
