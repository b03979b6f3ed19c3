//! The methods, one file each. To add one, write its file and put it into [`METHODS`].

mod averaging;
mod builder;
mod descending;
mod dp_fermi;
mod erm;
mod excess;
mod fed_avg;
mod fed_fdp;
mod fermi;
mod one_shot;
mod path;
mod pf_ld;
mod randomised_response;
mod reductions;
mod shares;
mod steffle;
mod steffle_nonprivate;

pub use self::builder::Fit;
pub use self::dp_fermi::DpFermi;
pub use self::erm::Erm;
pub use self::excess::ExcessReport;
pub use self::fed_avg::FedAvg;
pub use self::fed_fdp::FedFdp;
pub use self::fermi::Fermi;
pub use self::one_shot::{Estimate, OneShot, OneShotReport};
pub use self::pf_ld::PfLd;
pub use self::randomised_response::RandomisedResponse;
pub use self::reductions::Reductions;
pub use self::shares::SharedClaim;
pub use self::steffle::Steffle;
pub use self::steffle_nonprivate::SteffleNonprivate;
use crate::method::Entry;

/// The method of the unconstrained model.
pub(crate) static ERM: &Entry = &erm::ENTRY;

/// Every method, in the order in which they are listed.
pub static METHODS: [&Entry; 11] = [
    &steffle::ENTRY,
    &one_shot::ENTRY,
    &randomised_response::ENTRY,
    &fermi::ENTRY,
    &dp_fermi::ENTRY,
    &pf_ld::ENTRY,
    &reductions::ENTRY,
    &steffle_nonprivate::ENTRY,
    &fed_fdp::ENTRY,
    &fed_avg::ENTRY,
    &erm::ENTRY,
];
