//! Sixteen numbers side by side: one vector of the widest kind, two or four of the others.

/// Width of the sums, and the places for components.
pub(in crate::mixture) const LANES: usize = 16;

/// A number for each of the observations of a vector, or for each component.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(in crate::mixture) struct Vector(pub(in crate::mixture) [f32; LANES]);

impl Vector {
    pub(in crate::mixture) const ZERO: Self = Self([0.0; LANES]);
}

/// All lanes joined by `join` in a fixed order: halves, and halves of halves.
#[inline(always)]
pub(super) fn folded<T: Copy>(lanes: &[T; LANES], join: impl Fn(T, T) -> T) -> T {
    let [a, b, c, d] = quartered(lanes, &join);
    join(join(a, c), join(b, d))
}

/// The first two of the four joins of [`folded`].
#[inline(always)]
pub(super) fn quartered<T: Copy>(lanes: &[T; LANES], join: impl Fn(T, T) -> T) -> [T; LANES / 4] {
    let halves: [T; LANES / 2] = std::array::from_fn(|lane| join(lanes[lane], lanes[lane + LANES / 2]));
    std::array::from_fn(|lane| join(halves[lane], halves[lane + LANES / 4]))
}
