//! Methods as a program writes them down: `Steffle::new().epsilon(1.0).lambda(2.0).fit(&study)`.

use std::sync::Arc;

use crate::Error;
use crate::method::{Entry, Given, Method, Plan, method};
use crate::model::Model;
use crate::observer::Observer;
use crate::study::Study;

/// What every method can do.
///
/// Builders have it, so that all methods are planned and trained the same way.
pub trait Fit {
    /// Which method it is.
    fn entry(&self) -> &'static Entry;

    /// What was said about it.
    fn given(&self) -> &Given;

    /// The method, checked.
    fn method(&self) -> Result<Arc<dyn Method>, Error> {
        method(self.entry().name, self.given())
    }

    /// What would be done and what it would cost; computes nothing.
    fn plan(&self, study: &Study) -> Result<Plan, Error> {
        self.method()?.plan(study)
    }

    /// Trains a model.
    fn fit(&self, study: &Study) -> Result<Model, Error> {
        self.fit_with(study, &())
    }

    /// Trains a model; `observer` sees how far it is and may stop it.
    fn fit_with(&self, study: &Study, observer: &dyn Observer) -> Result<Model, Error> {
        self.plan(study)?.train(observer)
    }

    /// A model for every lambda, in their order. Methods that release once release once for all of
    /// them; with others every lambda is a run of its own, with a cost of its own.
    fn fit_path(&self, study: &Study, lambdas: &[f64]) -> Result<Vec<Model>, Error> {
        if self.method()?.shares_release() {
            let rising = lambdas.is_sorted();
            let mut order: Vec<usize> = (0..lambdas.len()).collect();
            order.sort_by(|&a, &b| lambdas[a].total_cmp(&lambdas[b]));
            let sorted: Vec<f64> = order.iter().map(|&at| lambdas[at]).collect();
            let models = self.plan(study)?.train_path(&sorted, &())?;
            let models = models.into_iter().collect::<Result<Vec<Model>, Error>>()?;
            if rising {
                return Ok(models);
            }
            let mut placed: Vec<(usize, Model)> = order.into_iter().zip(models).collect();
            placed.sort_by_key(|(place, _)| *place);
            return Ok(placed.into_iter().map(|(_, model)| model).collect());
        }
        let one = |&lambda: &f64| {
            let mut given = self.given().clone();
            given.set("lambda", lambda);
            method(self.entry().name, &given)?.plan(study)?.train(&())
        };
        lambdas.iter().map(one).collect()
    }
}

/// A method's builder: its documentation, its name, its entry and the settings it takes.
macro_rules! builder {
    ($(#[$meta:meta])* $name:ident: $($setting:ident),+) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default)]
        pub struct $name {
            given: $crate::method::Given,
        }

        impl $name {
            /// With the settings that serve for most data.
            pub fn new() -> Self {
                Self::default()
            }

            $($crate::methods::builder::setting!($setting);)+
        }

        impl $crate::methods::builder::Fit for $name {
            fn entry(&self) -> &'static $crate::method::Entry {
                &ENTRY
            }

            fn given(&self) -> &$crate::method::Given {
                &self.given
            }
        }
    };
}
pub(crate) use builder;

/// What each setting is, once for all methods.
macro_rules! setting {
    (@ $(#[$doc:meta])* $name:ident, $key:literal, $kind:ty, $value:ident => $given:expr) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $value: $kind) -> Self {
            self.given.set($key, $given);
            self
        }
    };
    (model) => { $crate::methods::builder::setting! { @
        /// `logistic`, `softmax` or `mlp:WIDTH,...` [default: logistic for two labels, else softmax].
        model, "model", &str, name => name } };
    (notion) => { $crate::methods::builder::setting! { @
        /// `demographic-parity`, `equalized-odds`, `equal-opportunity`, `accuracy-parity`, `conditional:COLUMN` or `none`
        /// [default: demographic-parity].
        notion, "notion", &str, name => name } };
    (lambda) => { $crate::methods::builder::setting! { @
        /// The weight of fairness against accuracy, 0 or more [default: 1].
        lambda, "lambda", f64, weight => weight } };
    (sharpness) => { $crate::methods::builder::setting! { @
        /// tau: fairness is measured in training on softmax(tau x logits) [default: 1].
        sharpness, "surrogate-sharpness", f64, tau => tau } };
    (l2) => { $crate::methods::builder::setting! { @
        /// What a network's parameters are pulled towards 0 by, from 0 to 1 [default: 0.0001].
        l2, "l2", f64, pull => pull } };
    (mode) => { $crate::methods::builder::setting! { @
        /// What noise to add.
        mode, "mode", $crate::method::Mode, mode => mode.to_string() } };
    (sign) => { $crate::methods::builder::setting! { @
        /// Where the signs of the constraints come from.
        sign, "sign", $crate::method::Sign, sign => sign.to_string() } };
    (epsilon) => { $crate::methods::builder::setting! { @
        /// The privacy parameter.
        epsilon, "epsilon", f64, epsilon => epsilon } };
    (delta) => { $crate::methods::builder::setting! { @
        /// The probability of more than epsilon [default: 1/n^2 for n training rows].
        delta, "delta", f64, delta => delta } };
    (row_cap) => { $crate::methods::builder::setting! { @
        /// The share of rows that keep their length [default: by epsilon].
        row_cap, "row-cap", f64, share => share } };
    (noise_shape) => { $crate::methods::builder::setting! { @
        /// In which coordinates noise has one scale [default: shaped].
        noise_shape, "noise-shape", $crate::method::NoiseShape, shape => shape.to_string() } };
    (accounting) => { $crate::methods::builder::setting! { @
        /// Whose cost is added up over the rounds [default: record].
        accounting, "accounting", $crate::method::Accounting, whose => whose.to_string() } };
    (noise) => { $crate::methods::builder::setting! { @
        /// Where noise comes from [default: the seed, which protects nothing].
        noise, "noise", $crate::method::NoiseOrigin, origin => origin.to_string() } };
    (clip) => { $crate::methods::builder::setting! { @
        /// Bound on each record's part of a message, where that is clipped.
        clip, "clip", f64, bound => bound } };
    (diameter) => { $crate::methods::builder::setting! { @
        /// Diameter of the ball that holds W, in mode paper [default: 3].
        diameter, "diameter", f64, diameter => diameter } };
    (server) => { $crate::methods::builder::setting! { @
        /// How the server uses the answers [default: improved; plain in mode paper].
        server, "server", $crate::method::ServerKind, server => server.to_string() } };
    (rounds) => { $crate::methods::builder::setting! { @
        /// Rounds of communication.
        rounds, "rounds", u32, rounds => rounds } };
    (epochs) => { $crate::methods::builder::setting! { @
        /// Passes over the largest silo, instead of rounds.
        epochs, "epochs", u32, epochs => epochs } };
    (local_epochs) => { $crate::methods::builder::setting! { @
        /// Passes of every silo over its records in a round [default: 1].
        local_epochs, "local-epochs", u32, epochs => epochs } };
    (batch) => { $crate::methods::builder::setting! { @
        /// Records per silo and round.
        batch, "batch", $crate::method::BatchSize, batch => batch } };
    (lr_theta) => { $crate::methods::builder::setting! { @
        /// Step size of theta.
        lr_theta, "lr-theta", f64, step => step } };
    (lr_dual) => { $crate::methods::builder::setting! { @
        /// Step size of the dual variable.
        lr_dual, "lr-dual", f64, step => step } };
    (output) => { $crate::methods::builder::setting! { @
        /// Which iterate to return: `last`, `average` or `random` [default: last].
        output, "output", &str, which => which } };
    (target_gap) => { $crate::methods::builder::setting! { @
        /// Take the smallest lambda whose estimated gap on the training rows is at most this.
        target_gap, "target-gap", f64, gap => gap } };
    (max_excess) => { $crate::methods::builder::setting! { @
        /// Take the largest lambda whose error on validation rows is at most this above the
        /// unconstrained model's; costs no privacy.
        max_excess, "max-excess", f64, excess => excess } };
    (pool) => { $crate::methods::builder::setting! { @
        /// Silos also share matrices of their features, and are decoded together [default: no].
        pool, "pool", bool, pool => pool } };
    (secure_aggregation) => { $crate::methods::builder::setting! { @
        /// Sums over silos are added up under masks, which hide what one silo adds [default: no].
        secure_aggregation, "secure-aggregation", bool, masked => masked } };
    (noise_shares) => { $crate::methods::builder::setting! { @
        /// How much of the noise each silo adds: all, or a share of one noise [default: each].
        noise_shares, "noise-shares", $crate::method::Shares, shares => shares.to_string() } };
    (colluders) => { $crate::methods::builder::setting! { @
        /// Silos that may help the server, where silos share noise [default: less than half].
        colluders, "colluders", u32, count => count } };
}
pub(crate) use setting;
