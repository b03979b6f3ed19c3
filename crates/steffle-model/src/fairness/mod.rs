//! The fairness regulariser: notions, the chi-square divergence and its min-max form.
//!
//! Every notion says "prediction independent of `s`, given the cell". Per cell there is one dual
//! variable `W` (k x l), one set of class weights `p~` and one divergence `D_c`; the objective is
//! `L(theta) + lambda sum_c w_c D_c` with `w_c` the cell's share of the records in some cell.

mod chi_square;
mod dual;
mod moving;
mod notion;
pub mod psi;
mod weights;

pub use chi_square::{divergence, min_max_value};
pub use dual::{Dual, DualSet, closed_form};
pub use moving::MovingTable;
pub use notion::{Notion, NotionError, NotionName};
pub use weights::ClassWeights;

#[cfg(test)]
mod tests;
