//! A look at what a site would take into a run, for whoever holds the data.

use std::path::Path;

use serde::Serialize;
use steffle_data::{Holds, NamedColumn, Silo, Site, SitePolicy};

use crate::Error;

/// What stands in a `silo.toml`, and what its files hold.
///
/// Its groups are computed from s: they are for the eyes of whoever holds the data, and leave nothing.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SiloReport {
    /// The site.
    pub name: String,
    /// `records`, `attributes` or `both`.
    pub role: Holds,
    /// Usable records.
    pub rows: usize,
    /// Rows left out for missing values.
    pub dropped: usize,
    /// Every name in its files, and what it may be used for.
    pub names: Vec<NamedColumn>,
    /// Columns of numbers.
    pub numeric: Vec<String>,
    /// Columns of categories, with these.
    pub categorical: Vec<(String, Vec<String>)>,
    /// Labels as declared.
    pub labels: Vec<String>,
    /// Classes as declared.
    pub classes: Vec<String>,
    /// Records per class; the last are those without one. None where the site has no attributes.
    pub groups: Option<Vec<(Option<String>, usize)>>,
    /// Features that predict the sensitive attribute almost alone, one sentence each: a server sees exact
    /// sums over them.
    pub tells: Vec<String>,
    /// Records about whom the attributes file says nothing.
    pub unmatched: usize,
    /// Rows of the attributes file about whom there is no record.
    pub unused: usize,
    /// What it allows.
    pub policy: SitePolicy,
    /// What a run would be sent, one sentence each.
    pub sends: Vec<String>,
    /// What never leaves.
    pub never: Vec<String>,
}

impl SiloReport {
    /// Reads a `silo.toml` and its files; refuses those that could not take part in a run. Also says
    /// where its ledger is.
    pub fn read(path: &Path) -> Result<(Self, Silo), Error> {
        let silo = Silo::read(path)?;
        let site = Site::of_silo(&silo)?;
        let looked = site.look()?;
        let (sends, never) = (sends(silo.role, &silo), never(silo.role));
        let report = Self {
            name: silo.name.clone(),
            role: silo.role,
            rows: looked.rows,
            dropped: looked.dropped,
            names: looked.names,
            numeric: looked.numeric,
            categorical: looked.categorical,
            labels: silo.recipe.labels.clone(),
            classes: silo.recipe.classes.clone(),
            groups: looked.groups,
            tells: looked.tells,
            unmatched: looked.unmatched,
            unused: looked.unused,
            policy: silo.policy.clone(),
            sends,
            never,
        };
        Ok((report, silo))
    }
}

fn sends(role: Holds, silo: &Silo) -> Vec<String> {
    let mut all = Vec::new();
    if role != Holds::Attributes {
        all.push(
            "before a run, to the lead: the number of records; per numeric column count, mean and sum \
             of squares; the names of categories, labels and strata, and the rows of every stratum",
        );
        all.push(
            "per evaluation or round, to the lead: sums over all records (loss, gradient, outputs, \
             counts by cell), exact",
        );
    }
    if role == Holds::Records {
        all.push(
            "per round, to every holder of attributes: record ids, outputs and slopes of each record, \
             from which features can be computed; in a one-shot run the features themselves",
        );
    }
    if role != Holds::Records {
        all.push(
            "per round, or once, to the lead: sums by class with noise, paid for in the ledger before \
             the attribute is read; with randomised response noisy classes, to the records",
        );
    }
    if silo.policy.pool && role != Holds::Attributes {
        all.push("with pool: Gram matrices of features, which can show a record");
    }
    all.into_iter().map(str::to_owned).collect()
}

fn never(role: Holds) -> Vec<String> {
    let mut all = Vec::new();
    if role != Holds::Records {
        all.push("the sensitive attribute, or anything computed from it without noise and a line in the ledger");
    }
    if role == Holds::Both {
        all.push("rows, record ids");
    }
    if role != Holds::Attributes {
        all.push("columns that the recipe drops, paths, this file");
    }
    all.into_iter().map(str::to_owned).collect()
}
