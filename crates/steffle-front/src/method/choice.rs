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
        pub enum $name { $($(#[$doc])* $variant),+ }

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
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Poisson, Self::None, Self::Paper];

    /// Whether a setting means anything in the mode.
    pub fn takes(self, key: &str) -> bool {
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
    /// How much of the noise each silo adds.
    Shares {
        /// All that the claim needs: it holds whoever else is there.
        Each = "each",
        /// A share: all silos together add what one would.
        Once = "once",
    }
}

/// Records per silo and round.
///
/// All of them, or some that are drawn anew every round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
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

impl From<NoiseOrigin> for steffle::noise::NoiseKind {
    fn from(origin: NoiseOrigin) -> Self {
        match origin {
            NoiseOrigin::Secure => Self::Secure,
            NoiseOrigin::Simulated => Self::Simulation,
        }
    }
}
