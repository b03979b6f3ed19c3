//! Noise once for all silos: what is asked for, and what may be said of it.

use serde::{Deserialize, Serialize};
use steffle_privacy::NoiseShares;
use steffle_privacy::ledger::{Statement, StatementKind};

use crate::Error;
use crate::method::{Given, Shares, Written};
use crate::study::Study;

/// A claim that rests on others: whom it is against, what it assumes, and what is left without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedClaim {
    /// Epsilon against those.
    pub epsilon: f64,
    /// Whom the claim is against.
    pub against: String,
    /// What it assumes.
    pub assumes: String,
    /// Epsilon if all other silos help the server.
    pub epsilon_alone: f64,
    /// `once`.
    pub noise_shares: String,
}

/// Whether and how silos share noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Asked {
    shares: Shares,
    colluders: Option<u32>,
}

impl Asked {
    /// They do not.
    pub(super) const EACH: Self = Self { shares: Shares::Each, colluders: None };

    /// Refuses shares of noise where sums are added up such that somebody sees one silo's; `needs` are the
    /// settings that make them `hidden`.
    pub(super) fn read(given: &Given, hidden: bool, needs: &str) -> Result<Self, Error> {
        let shares = given.word("noise-shares")?.unwrap_or(Shares::Each);
        let allowed = "a whole number, at most the number of silos minus 2";
        let colluders = given.number("colluders", 0.0..=125.0, allowed)?;
        if let Some(given) = colluders.filter(|count| count.fract() != 0.0) {
            return Err(Error::value("colluders", given, format!("it must be {allowed}")));
        }
        let colluders = colluders.map(|count| count as u32);
        if shares == Shares::Each && colluders.is_some() {
            let message = "colluders says how many silos may subtract their share of the noise, and none is \
                           shared";
            let help = "add <noise-shares once>, or leave it out";
            return Err(Error::conflict("colluders", message).with_help(help));
        }
        if shares == Shares::Once && !hidden {
            let message = "with noise-shares once a silo's own sums have less noise than the claim counts on, \
                           so only sums over all silos may be read";
            let help = format!("add {needs}, or leave it out");
            return Err(Error::conflict("noise-shares", message).with_help(help));
        }
        Ok(Self { shares, colluders })
    }

    /// Whether they do.
    pub(super) fn is_once(self) -> bool {
        self.shares == Shares::Once
    }

    /// How many of so many silos may help the server, where they share noise.
    pub(super) fn against(self, silos: usize) -> Option<u32> {
        let usual = || NoiseShares::usual(silos as u32).map_or(0, NoiseShares::colluders);
        self.is_once().then(|| self.colluders.unwrap_or_else(usual))
    }

    /// Those of a study's silos; refuses attributes that are held elsewhere, and too few silos.
    pub(super) fn of(self, study: &Study) -> Result<Option<NoiseShares>, Error> {
        if !self.is_once() {
            return Ok(None);
        }
        if study.is_split() {
            let message = "noise is shared by silos that have attributes beside their records, and here they are \
                           held elsewhere";
            let help = "use <centralisation silos>, or leave out <noise-shares>";
            return Err(Error::conflict("noise-shares", message).with_help(help));
        }
        let silos = study.sizes().len() as u32;
        let shares = match self.colluders {
            Some(colluders) => NoiseShares::new(silos, colluders),
            None => NoiseShares::usual(silos),
        };
        let key = if self.colluders.is_some() { "colluders" } else { "noise-shares" };
        shares.map(Some).map_err(|error| {
            Error::conflict(key, error.to_string()).with_help("leave out <noise-shares>")
        })
    }

    pub(super) fn write(self, written: &mut Written) {
        written.push("noise-shares", self.is_once().then(|| self.shares.to_string()));
        written.push("colluders", self.colluders);
    }
}

/// The claim of a run whose silos share noise.
pub(super) fn claim(said: &Statement) -> Option<SharedClaim> {
    let (shares, epsilon_alone) = (said.shares?, said.epsilon_alone?);
    let (sites, colluders) = (shares.sites(), shares.colluders());
    let assumes = match said.kind {
        StatementKind::Private => {
            "only sums over all silos are read: X25519 and ChaCha20 hold against whoever keeps the \
             transcript; nobody has records at two silos"
        }
        StatementKind::Simulation | StatementKind::None => {
            "only sums over all silos are read (simulated here: noise is from a seed, or one program \
             makes all keys); nobody has records at two silos"
        }
    };
    Some(SharedClaim {
        epsilon: said.epsilon?,
        against: match colluders {
            0 => format!("the server, if none of the {sites} silos helps it"),
            1 => format!("the server and any one of the {sites} silos together"),
            _ => format!("the server and any {colluders} of the {sites} silos together"),
        },
        assumes: assumes.to_owned(),
        epsilon_alone,
        noise_shares: Shares::Once.to_string(),
    })
}

impl SharedClaim {
    /// The sentences that a statement has beside its first.
    pub(super) fn words(&self) -> String {
        format!(
            "It assumes that {}; somebody with records at m silos is protected at mu times m. If all \
             other silos help the server: epsilon {:.2}, which the stores are charged too.",
            self.assumes,
            steffle_privacy::rounding::up(self.epsilon_alone, 3)
        )
    }
}
