//! Numbers as computers have them: sums that lose nothing, quadrature, roots, what rounding has moved apart, and normal
//! numbers at random.

pub(crate) mod compensated_sum;
pub(crate) mod gauss_legendre;
pub(crate) mod monotone_root;
pub(crate) mod rounding;
mod standard_normals;

pub use standard_normals::StandardNormals;
