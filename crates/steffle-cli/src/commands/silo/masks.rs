//! A site's key and roster: whom it adds up with under masks, and who would learn what.

use std::path::Path;

use serde::Serialize;
use serde_json::json;
use steffle_data::{Dataset, Holds, Silo, Site, SiteMasks};
use steffle_front::{
    Fingerprint, MaskFileError, MaskJournal, accept_roster, create_key, read_epoch, read_journal,
    read_key,
};

use crate::failure::Failure;
use crate::ui::{Output, Rows, wrap};

/// What `silo check` says about masks.
#[derive(Debug, Serialize)]
pub(super) struct MaskHealth {
    fingerprint: String,
    roster: Vec<Pinned>,
    require: bool,
    min_sites: usize,
    /// Sites that help the server in the usual job.
    colluders: usize,
    /// `nobody` yet, `this-roster`, `another-roster` or `without-masks`.
    answered_with: &'static str,
    /// How often its data have changed while it answered under masks.
    epoch: Option<u32>,
    /// Records that were altered since.
    altered: Option<u64>,
    min_change: u64,
}

#[derive(Debug, Serialize)]
struct Pinned {
    name: String,
    fingerprint: String,
    own: bool,
}

impl MaskHealth {
    /// Of a site that has a key; refuses a key that others may read, and a journal that is damaged.
    pub(super) fn of(silo: &Silo) -> Result<Option<Self>, Failure> {
        let Some(masks) = silo.masks.as_ref().filter(|_| silo.role == Holds::Both) else {
            return Ok(None);
        };
        let own = read_key(&masks.key).map_err(|error| failed(&error))?.fingerprint();
        let roster = silo.mask_roster(own)?;
        let answered = read_journal(&masks.journal).map_err(|error| failed(&error))?;
        let answered_with = match answered {
            None => "nobody",
            Some(with) if with == roster.digest() => "this-roster",
            Some(with) if with == MaskJournal::CLEAR => "without-masks",
            Some(_) => "another-roster",
        };
        let (epoch, altered) = changed(silo, masks)?.unzip();
        let pinned = |(fingerprint, name): &(Fingerprint, String)| Pinned {
            name: name.clone(),
            fingerprint: fingerprint.to_string(),
            own: *fingerprint == own,
        };
        Ok(Some(Self {
            fingerprint: own.to_string(),
            require: masks.requires(),
            min_sites: masks.min_sites,
            colluders: usize::from(masks.colluders).max(roster.len().saturating_sub(1) / 2),
            roster: roster.sites().iter().map(pinned).collect(),
            answered_with,
            epoch,
            altered,
            min_change: masks.min_change,
        }))
    }

    pub(super) fn text(&self, output: Output) -> String {
        let mut rows = Rows::new(&["site", "fingerprint of its key"]);
        for Pinned { name, fingerprint, own } in &self.roster {
            let name = if *own { format!("{name} (this site)") } else { name.clone() };
            rows.push(vec![name, fingerprint.clone()]);
        }
        let (sites, colluders) = (self.roster.len(), self.colluders);
        let answered = match self.answered_with {
            "this-roster" => "It has answered with these sites and refuses all others.",
            "another-roster" => {
                "It has answered with OTHER sites and refuses these, until `steffle silo roster accept`."
            }
            "without-masks" => {
                "It has answered WITHOUT masks and refuses these, until `steffle silo roster accept`."
            }
            _ => "It has answered with nobody yet.",
        };
        let require = if self.require {
            "It answers under masks or not at all."
        } else {
            "It also answers without masks, where a job asks for none and none was used before \
             (require = false)."
        };
        let changed = match (self.altered, self.min_change) {
            (None, _) => String::new(),
            (Some(0), _) => " Its data are as they were.".to_owned(),
            (Some(altered), least) if altered < least => format!(
                " {altered} of its records were altered since, fewer than {least}: it REFUSES until there \
                 are more, or none."
            ),
            (Some(altered), _) => format!(
                " {altered} of its records were altered since: it answers where at least {} sites' data \
                 have changed.",
                colluders + 2
            ),
        };
        format!(
            "\n{}\n{}{}",
            output.strong("Sums under masks (--secure-aggregation)"),
            rows.render(),
            wrap(&format!(
                "Would be learned: by the server, sums over all {sites} sites; by the server with the \
                 help of {colluders} of them, the sum over the other {}; by any site, nothing of \
                 another. {require} {answered}{changed}",
                sites.saturating_sub(colluders)
            ))
        )
    }
}

/// What `silo check` says about letters, at a site that gets some or sends some.
#[derive(Debug, Serialize)]
pub(super) struct LetterHealth {
    /// Of the key that signs its letters; none: they are not signed.
    fingerprint: Option<String>,
    /// The sites whose letters it takes; none: it takes what the server's side carries to it.
    peers: Vec<String>,
}

impl LetterHealth {
    /// Of a site with one division; refuses a key that others may read.
    pub(super) fn of(silo: &Silo) -> Result<Option<Self>, Failure> {
        if silo.role == Holds::Both {
            return Ok(None);
        }
        let Some(masks) = &silo.masks else {
            return Ok(Some(Self { fingerprint: None, peers: Vec::new() }));
        };
        let own = read_key(&masks.key).map_err(|error| failed(&error))?.fingerprint();
        silo.mask_roster(own)?;
        let peers = silo.peers.keys().cloned().collect();
        Ok(Some(Self { fingerprint: Some(own.to_string()), peers }))
    }

    pub(super) fn text(&self, output: Output) -> String {
        let signs = match &self.fingerprint {
            Some(own) => format!("This site signs its letters to other sites; its key is {own}."),
            None => "This site has no key and signs no letter.".to_owned(),
        };
        let takes = if self.peers.is_empty() {
            "It pins no key of others ([peers]) and takes letters as they are carried to it: the sites \
             on the other side are whoever runs the server."
                .to_owned()
        } else {
            format!("It takes letters that {} signed, and no others.", self.peers.join(", "))
        };
        format!("\n{}\n{}", output.strong("Letters"), wrap(&format!("{signs} {takes}")))
    }
}

/// Makes a key, or shows the one that there is.
pub(super) fn key(file: &Path, output: Output) -> Result<(), Failure> {
    let (identity, made) = match create_key(file) {
        Ok(identity) => (identity, true),
        Err(MaskFileError::Exists(_)) => (read_key(file).map_err(|error| failed(&error))?, false),
        Err(error) => return Err(failed(&error)),
    };
    let fingerprint = identity.fingerprint().to_string();
    let said = if made { "A new key" } else { "The key that was there" };
    let text = format!(
        "{fingerprint}\n\n{}",
        wrap(&format!(
            "{said} is in {}, for this site alone. Read the fingerprint out to all other sites; they \
             write it under [peers] of their silo.toml, and you theirs under yours.",
            file.display()
        ))
    );
    output.result(&json!({"fingerprint": fingerprint, "made": made}), &text)
}

/// Accepts the roster of a `silo.toml`.
pub(super) fn accept(file: &Path, output: Output) -> Result<(), Failure> {
    let silo = Silo::read(file)?;
    let Some(SiteMasks { key, journal, head, .. }) = &silo.masks else {
        let message = format!("{}: has no [masks]", file.display());
        return Err(Failure::data("node::masks", message)
            .help("make a key with steffle silo key, and name it: [masks] key = \"site.key\""));
    };
    let own = read_key(key).map_err(|error| failed(&error))?.fingerprint();
    let roster = silo.mask_roster(own)?;
    let before = read_journal(journal).ok().flatten();
    let altered = silo.masks.as_ref().and_then(|masks| changed(&silo, masks).ok().flatten());
    let altered = altered.map_or(0, |(_, altered)| altered);
    accept_roster(journal, head.as_deref(), roster.digest()).map_err(|error| failed(&error))?;
    let names: Vec<&str> = roster.sites().iter().map(|(_, name)| name.as_str()).collect();
    let shown = match before {
        Some(with) if with != roster.digest() => {
            " What it added before was in sums of other sites: whoever has both sums learns what the \
             sites added that are in one of them alone, this one perhaps."
        }
        _ => "",
    };
    let differs = match altered {
        0 => String::new(),
        _ => format!(
            " {altered} of its records were altered since it answered last: whoever has totals of before \
             and after learns what changed. The others accept the roster too, or refuse."
        ),
    };
    let text = wrap(&format!(
        "From now on this site adds up with {} and nobody else.{shown}{differs}",
        names.join(", ")
    ));
    output.result(&json!({"roster": names, "replaced": before.is_some()}), &text)
}

/// The epoch of a site's data under masks, and how many records were altered since.
fn changed(silo: &Silo, masks: &SiteMasks) -> Result<Option<(u32, u64)>, Failure> {
    let site = Site::of_silo(silo)?;
    let records = site.records().map(Dataset::digests).unwrap_or_default();
    read_epoch(&masks.journal, &records).map_err(|error| failed(&error))
}

fn failed(error: &MaskFileError) -> Failure {
    Failure::data("node::masks", error.to_string())
}
