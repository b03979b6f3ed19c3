//! Settings that are one of a few words.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A list of words, each the name of one value.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$doc])* $variant),+ }

        impl FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err([$($word),+].join(", ")),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),+ })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

choice! {
    /// How to train.
    Method {
        /// Algorithm 1.
        Steffle = "steffle",
        /// One noisy release, then training on what it tells.
        OneShot = "one-shot",
        /// The central reference: the true classes, no noise.
        Fermi = "fermi",
        /// Training on classes that were randomised once.
        RandomisedResponse = "randomised-response",
        /// A preset of `steffle`: one silo that is trusted, and Algorithm 1's own steps.
        DpFermi = "dp-fermi",
        /// A private Lagrangian dual with a trusted curator.
        PfLd = "pf-ld",
        /// Exponentiated gradient: central, no noise.
        Reductions = "reductions",
        /// A preset of `steffle`: no noise, and Algorithm 1's own steps.
        SteffleNonprivate = "steffle-nonprivate",
        /// Equal losses between silos, and privacy of whole records.
        FedFdp = "fedfdp",
        /// Federated averaging.
        FedAvg = "fedavg",
        /// Federated training without fairness.
        Erm = "erm",
    }
}

impl Method {
    /// Whether it takes steps whose number and size can be set; the others go to an optimum.
    pub(crate) fn steps(self) -> bool {
        matches!(self, Self::Steffle | Self::DpFermi | Self::PfLd | Self::SteffleNonprivate)
    }

    /// Whether one curator, whom all trust, has all records and classes in one place.
    pub(crate) fn central(self) -> bool {
        matches!(self, Self::Fermi | Self::DpFermi | Self::PfLd | Self::Reductions)
    }

    /// Whether silos train by themselves and the server averages.
    pub(crate) fn federated(self) -> bool {
        matches!(self, Self::FedFdp | Self::FedAvg)
    }

    /// The mode where none is named.
    pub(crate) fn usual_mode(self, sign: Option<Sign>) -> Mode {
        match (self, sign) {
            (Self::PfLd, Some(Sign::Batch)) => Mode::Paper,
            (Self::Steffle | Self::DpFermi | Self::PfLd, _) => Mode::Exact,
            (Self::FedFdp, _) => Mode::Poisson,
            _ => Mode::None,
        }
    }

    /// Whether it has the mode, where it has modes.
    pub(crate) fn has(self, mode: Mode) -> bool {
        match self {
            Self::FedAvg => mode == Mode::None,
            Self::FedFdp => mode != Mode::Exact,
            _ => true,
        }
    }

    /// Whether models for several lambdas are found in one go, from one release where there is one.
    pub(crate) fn has_path(self) -> bool {
        matches!(self, Self::Fermi | Self::RandomisedResponse | Self::Reductions)
    }

    /// Whether a setting means anything to the method.
    pub(crate) fn takes(self, key: &str) -> bool {
        let fairness = ["lambda", "surrogate-sharpness"];
        let answers = ["epsilon", "noise"];
        let steps = ["server", "rounds", "epochs", "batch", "lr-theta", "lr-dual", "output"];
        let modes = ["mode", "delta", "row-cap", "noise-shape", "accounting", "clip", "diameter"];
        let silos = ["silos", "heterogeneity", "partition-by", "centralisation"];
        let once = ["target-gap", "pool", "secure-aggregation"];
        let averaging = ["rounds", "local-epochs", "batch", "lr-theta"];
        let private = ["lambda", "mode", "epsilon", "delta", "clip"];
        match self {
            Self::FedFdp if private.contains(&key) => true,
            Self::FedFdp | Self::FedAvg if averaging.contains(&key) => true,
            _ if key == "local-epochs" => false,
            Self::OneShot if once.contains(&key) || key == "delta" => true,
            _ if once.contains(&key) => false,
            _ if key == "sign" => self == Self::PfLd,
            Self::Steffle => true,
            Self::PfLd => {
                let own = ["server", "surrogate-sharpness", "diameter"];
                !silos.contains(&key) && !own.contains(&key)
            }
            Self::Reductions => {
                let foreign = [&silos[..], &answers, &steps, &modes].concat();
                !foreign.contains(&key) && key != "surrogate-sharpness"
            }
            Self::DpFermi => !silos.contains(&key) && key != "server",
            Self::SteffleNonprivate => {
                !modes.contains(&key) && !answers.contains(&key) && key != "server"
            }
            Self::Erm | Self::FedAvg | Self::FedFdp if fairness.contains(&key) => false,
            Self::Erm | Self::FedAvg | Self::FedFdp | Self::Fermi if answers.contains(&key) => {
                false
            }
            _ => !steps.contains(&key) && !modes.contains(&key),
        }
    }
}

choice! {
    /// Where PF-LD has the signs of its constraints from.
    Sign {
        /// The last noisy release.
        Released = "released",
        /// Every batch.
        Batch = "batch",
    }
}

choice! {
    /// What noise to add.
    Mode {
        /// Exact sensitivities, integer noise.
        Exact = "exact",
        /// The same on secret Poisson batches.
        Poisson = "poisson",
        /// None.
        None = "none",
        /// That of Theorem 3.2.
        Paper = "paper",
    }
}

impl Mode {
    /// Whether a setting means anything in the mode.
    pub(crate) fn takes(self, key: &str) -> bool {
        let paper = ["clip", "diameter"].contains(&key);
        let exact = ["row-cap", "noise-shape", "noise"].contains(&key);
        match self {
            Self::Exact | Self::Poisson => !paper,
            Self::Paper => !exact && key != "server",
            Self::None => !paper && !exact && !["epsilon", "delta"].contains(&key),
        }
    }
}

choice! {
    /// How the server uses the answers.
    ServerKind {
        /// Everything that post-processing can do.
        Improved = "improved",
        /// Algorithm 1's own steps.
        Plain = "plain",
        /// Those of `pf-ld`, which is the only method that has them.
        LagrangianDual = "lagrangian-dual",
    }
}

choice! {
    /// In which coordinates noise has one scale.
    NoiseShape {
        /// In those that the silo's rows make spherical.
        Shaped = "shaped",
        /// In those of the features.
        Isotropic = "isotropic",
    }
}

choice! {
    /// Whose cost is added up over the rounds.
    Accounting {
        /// Every unit's own.
        Record = "record",
        /// The largest of every round.
        Round = "round",
    }
}

choice! {
    /// Where noise comes from.
    NoiseOrigin {
        /// The seed.
        Simulated = "simulated",
        /// The operating system.
        Secure = "secure",
    }
}

choice! {
    /// What to do with rows that lack a value.
    MissingValues {
        /// Leave them out.
        Drop = "drop",
        /// Make missing a category.
        Category = "category",
        /// The same, with a feature for missing numbers.
        Impute = "impute",
    }
}

/// Who holds what (section 4 of the paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Centralisation {
    /// One silo with two divisions.
    OneSilo,
    /// Silos with two divisions each.
    Silos,
    /// One attributes holder for all silos.
    CentralAttributes,
    /// Attributes holders with a cut of their own.
    General(usize),
}

impl FromStr for Centralisation {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let allowed = || "one-silo, silos, central-attributes, general:Q with Q >= 1".to_owned();
        match word {
            "one-silo" => Ok(Self::OneSilo),
            "silos" => Ok(Self::Silos),
            "central-attributes" => Ok(Self::CentralAttributes),
            _ => word
                .strip_prefix("general:")
                .and_then(|holders| holders.parse().ok())
                .filter(|&holders| holders > 0)
                .map(Self::General)
                .ok_or_else(allowed),
        }
    }
}

impl fmt::Display for Centralisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneSilo => f.write_str("one-silo"),
            Self::Silos => f.write_str("silos"),
            Self::CentralAttributes => f.write_str("central-attributes"),
            Self::General(holders) => write!(f, "general:{holders}"),
        }
    }
}

impl Serialize for Centralisation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Records per silo and round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchSize {
    /// All of them.
    All,
    /// So many.
    Records(u32),
}

impl FromStr for BatchSize {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "all" => Ok(Self::All),
            _ => word
                .parse()
                .map(Self::Records)
                .map_err(|_| "it must be all, or a whole number, 1 or more".to_owned()),
        }
    }
}

impl fmt::Display for BatchSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Records(records) => write!(f, "{records}"),
        }
    }
}

impl Serialize for BatchSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::Records(records) => serializer.serialize_u32(*records),
        }
    }
}

/// A number or the word `all`: in TOML these are different types.
impl<'de> Deserialize<'de> for BatchSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = BatchSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"all\" or a whole number, 1 or more")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<BatchSize, E> {
                word.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(word), &self))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<BatchSize, E> {
                u32::try_from(number)
                    .map(BatchSize::Records)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
        }

        deserializer.deserialize_any(Either)
    }
}
