//! Releasing once: what is asked of stores, and what comes back to the records.

use steffle_model::decode::{Rule, ShareScale};
use steffle_model::linear::Symmetric;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::features::{FeatureReply, FeatureSums};
use super::pooled::{Agreed, PooledSums};
use super::request::{Ask, Done};
use super::summed::Summed;

/// Asks for the one release of a run.
///
/// After it the server can train for any lambda without asking about `s` again.
#[derive(Debug, Clone, PartialEq)]
pub enum Release {
    /// The class of every record: randomised at an epsilon, or as it is where nothing is claimed.
    Classes {
        /// Epsilon of the randomised response.
        epsilon: Option<f64>,
    },
    /// Sums of features by class.
    Features {
        /// The Gram matrix and cap that all silos agreed on; `None` where each has its own.
        agreed: Option<Agreed>,
        /// The scale of every site's share of one noise; `None` where each adds all of its own.
        share: Option<ShareScale>,
    },
}

/// Asks a silo for its part of a pooled sum.
///
/// Silos that pool are decoded together, as if their rows were one table.
#[derive(Debug, Clone, PartialEq)]
pub enum Pool {
    /// Records and Gram matrix.
    Gram {
        /// The job declares that sums are added up under secure aggregation.
        secure_aggregation: bool,
        /// Columns that so few records of all silos have that a matrix would show them, by the server's
        /// word: nobody has them from now on.
        without: Vec<u32>,
    },
    /// Records and cap, under the common Gram matrix.
    Cap {
        /// The Gram matrix.
        gram: Symmetric,
    },
    /// Moments of the capped features, and the message about the silo.
    Moments {
        /// What holders elsewhere released about the silo; a silo with both divisions has it.
        sums: Option<FeatureSums>,
    },
    /// Records, and the Gram matrix of their rows weighed by the curvature of the loss: the common shape
    /// of noise that sites share in rounds.
    Curvature {
        /// Where the run starts.
        theta: Vec<f64>,
        /// Columns that are left out, as those of a Gram matrix.
        without: Vec<u32>,
    },
    /// Records, and the length at a quantile of their rows under the common shape.
    Length {
        /// The shape; `None` where noise has none.
        gram: Option<Symmetric>,
        /// The share of rows that are not longer.
        quantile: f64,
    },
    /// How many records have each column. Under masks it is asked before any matrix of products: what few
    /// records of one silo have is hidden in the total, what few of all have is not.
    Entries {
        /// Of features as they are released once; else of rows.
        released: bool,
    },
}

/// Gives the records of a silo what was released about them.
///
/// From then on a silo trains on memberships.
#[derive(Debug, Clone, PartialEq)]
pub enum TakeIn {
    /// Classes, which came by letter.
    Classes {
        /// Epsilon of the randomised response.
        epsilon: Option<f64>,
    },
    /// Noisy sums of features.
    Sums(FeatureSums),
    /// The rule that pooled silos decode by.
    Rule(Rule),
    /// What rows are capped at in rounds whose noise is shared, and the bits of the largest coefficient.
    Cap {
        /// The longest row, under the common shape.
        length: f64,
        /// Bits.
        bits: u8,
    },
}

/// A store elsewhere answers with sums by silo; with none where what it released goes to the silos by
/// letter. A silo with both divisions keeps what it released.
impl Ask for Release {
    const KIND: Kind = Kind::Release;
    type Reply = Summed<FeatureReply>;
}

impl Ask for Pool {
    const KIND: Kind = Kind::Pool;
    type Reply = Summed<PooledSums>;
}

impl Ask for TakeIn {
    const KIND: Kind = Kind::TakeIn;
    type Reply = Done;
}

fn epsilon(writer: &mut Writer, epsilon: Option<f64>) {
    writer.option(epsilon.as_ref(), |writer, epsilon| writer.f64(*epsilon));
}

impl Encode for Release {
    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Classes { epsilon: asked } => {
                writer.u8(0);
                epsilon(writer, *asked);
            }
            Self::Features { agreed, share } => {
                writer.u8(1);
                writer.option(agreed.as_ref(), |writer, agreed| agreed.encode(writer));
                writer.option(share.as_ref(), |writer, share| share.encode(writer));
            }
        }
    }
}

impl Decode for Release {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            0 => Ok(Self::Classes { epsilon: reader.option("epsilon", Reader::f64)? }),
            1 => Ok(Self::Features {
                agreed: reader.option("agreement", Agreed::decode)?,
                share: reader.option("share", ShareScale::decode)?,
            }),
            found => Err(CodecError::Tag { what: "release", found }),
        }
    }
}

impl Encode for Pool {
    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Gram { secure_aggregation, without } => {
                writer.u8(0);
                writer.u8(u8::from(*secure_aggregation));
                writer.list(without, u32::to_le_bytes);
            }
            Self::Cap { gram } => {
                writer.u8(1);
                gram.encode(writer);
            }
            Self::Moments { sums } => {
                writer.u8(2);
                writer.option(sums.as_ref(), |writer, sums| sums.write(writer));
            }
            Self::Curvature { theta, without } => {
                writer.u8(3);
                writer.f64s(theta);
                writer.list(without, u32::to_le_bytes);
            }
            Self::Length { gram, quantile } => {
                writer.u8(4);
                writer.option(gram.as_ref(), |writer, gram| gram.encode(writer));
                writer.f64(*quantile);
            }
            Self::Entries { released } => {
                writer.u8(5);
                writer.u8(u8::from(*released));
            }
        }
    }
}

impl Decode for Pool {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            0 => Ok(Self::Gram {
                secure_aggregation: reader.flag("secure aggregation")?,
                without: reader.list(u32::from_le_bytes)?,
            }),
            1 => Ok(Self::Cap { gram: Symmetric::decode(reader)? }),
            2 => Ok(Self::Moments { sums: reader.option("sums", FeatureSums::decode)? }),
            3 => Ok(Self::Curvature {
                theta: reader.f64s()?,
                without: reader.list(u32::from_le_bytes)?,
            }),
            4 => Ok(Self::Length {
                gram: reader.option("shape", Symmetric::decode)?,
                quantile: reader.f64()?,
            }),
            5 => Ok(Self::Entries { released: reader.flag("released features")? }),
            found => Err(CodecError::Tag { what: "pool", found }),
        }
    }
}

impl Encode for TakeIn {
    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Classes { epsilon: asked } => {
                writer.u8(0);
                epsilon(writer, *asked);
            }
            Self::Sums(sums) => {
                writer.u8(1);
                sums.write(writer);
            }
            Self::Rule(Rule { intercepts, weights }) => {
                writer.u8(2);
                writer.f64s(intercepts);
                writer.u32(weights.len() as u32);
                weights.iter().for_each(|weights| writer.f64s(weights));
            }
            Self::Cap { length, bits } => {
                writer.u8(3);
                writer.f64(*length);
                writer.u8(*bits);
            }
        }
    }
}

impl Decode for TakeIn {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            0 => Ok(Self::Classes { epsilon: reader.option("epsilon", Reader::f64)? }),
            1 => Ok(Self::Sums(FeatureSums::decode(reader)?)),
            2 => {
                let (intercepts, count) = (reader.f64s()?, reader.u32()?);
                let weights = (0..count).map(|_| reader.f64s()).collect::<Result<_, _>>()?;
                Ok(Self::Rule(Rule { intercepts, weights }))
            }
            3 => Ok(Self::Cap { length: reader.f64()?, bits: reader.u8()? }),
            found => Err(CodecError::Tag { what: "take-in", found }),
        }
    }
}
