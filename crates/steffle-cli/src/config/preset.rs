//! Settings that a method has no choice about: methods that are another one with some settings, and
//! methods with a curator.

use std::fmt::Display;

use super::{Check, Method};
use crate::args::{CutArgs, TrainArgs};
use crate::failure::Failure;

/// Gives a method its own settings; refuses what contradicts them.
pub(crate) fn preset(
    check: Check<'_>,
    method: Method,
    train: &mut TrainArgs,
    cut: &mut CutArgs,
) -> Result<(), Failure> {
    let pin = Pin { check, method };
    match method {
        Method::DpFermi => {
            pin.one_silo(train, cut)?;
            pin.word("server", &mut train.server, "plain")
        }
        Method::PfLd => {
            pin.one_silo(train, cut)?;
            pin.word("server", &mut train.server, "lagrangian-dual")
        }
        Method::Reductions => pin.one_silo(train, cut),
        Method::SteffleNonprivate => {
            pin.word("mode", &mut train.mode, "none")?;
            pin.word("server", &mut train.server, "plain")
        }
        _ => Ok(()),
    }
}

/// Sets what a method has no choice about.
struct Pin<'a> {
    check: Check<'a>,
    method: Method,
}

impl Pin<'_> {
    fn value<T: PartialEq + Display>(
        &self,
        key: &str,
        given: &mut Option<T>,
        own: T,
    ) -> Result<(), Failure> {
        if let Some(given) = given.as_ref().filter(|given| **given != own) {
            let Self { check, method } = self;
            let message = format!("method {method} has {key} {own}, not {given}");
            let help = format!("leave --{key} out, or use --method steffle");
            return Err(check.0.conflict(key, message).help(help));
        }
        *given = Some(own);
        Ok(())
    }

    fn one_silo(&self, train: &mut TrainArgs, cut: &mut CutArgs) -> Result<(), Failure> {
        self.word("centralisation", &mut train.centralisation, "one-silo")?;
        self.value("silos", &mut cut.silos, 1)?;
        self.value("heterogeneity", &mut cut.heterogeneity, 0.0)
    }

    fn word(&self, key: &str, given: &mut Option<String>, own: &str) -> Result<(), Failure> {
        self.value(key, given, own.to_owned())
    }
}
