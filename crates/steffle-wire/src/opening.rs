//! A run is offered, granted and closed.

use steffle_privacy::ledger::{
    Accounts, Claim, Cost, GrantId, Kind as Released, NoiseKind, Offer, Receipt,
};
use steffle_privacy::{
    Event, FixedBatch, Neighbours, NoiseMultiplier, NoiseShares, Poisson, Rounds, SampleRate,
    Sampling,
};

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::request::{Ask, Done};
use super::summed::Masked;
use super::terms::{Share, Terms};

/// Offers a run. A store takes it by its own policy; what the offer promises is kept by its ledger,
/// whatever the rest of this says.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// What is promised.
    pub offer: Offer,
    /// What replies are released under.
    pub terms: Terms,
    /// The share of a silo's rows that keep their length; `None` where nothing is capped. Caps are
    /// chosen in round 0, where theta is the start.
    pub cap: Option<f64>,
    /// Whether noise is shaped by the silo's own rows, where both divisions are under one roof.
    pub shaped: bool,
    /// Public blocks, where rounds are about one each.
    pub blocks: Option<u32>,
    /// How much more a round may cost where every unit has its own account; `None` where none has.
    pub by_record: Option<f64>,
}

/// Ends a run.
///
/// The store gives back what the run never reserved, and hands out its receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close;

/// What a store says of a run that ended.
///
/// Its receipts, from which the server makes the run's statement about privacy.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Closed {
    /// What it released.
    pub receipts: Vec<Receipt>,
    /// mu of the Gaussian messages: of the dearest block or unit.
    pub spent: Option<f64>,
}

impl Opening {
    /// A run that claims nothing: stores send what they are asked for as it is.
    pub fn plain(offer: Offer) -> Self {
        Self { offer, terms: Terms::Open, cap: None, shaped: false, blocks: None, by_record: None }
    }

    /// Terms and accounts of a division. One that holds `units` units beside their records may give
    /// each its own account; one that is asked by id knows no fixed list of them.
    pub fn terms_for(&self, units: Option<usize>) -> (Terms, Accounts) {
        // A store without a unit has nothing to keep an account of.
        let units = units.filter(|&units| units > 0);
        match (&self.terms, units.zip(self.by_record), self.blocks) {
            (Terms::Exact(share), Some((units, more)), _) => {
                let round = share.round * more;
                (Terms::Exact(Share { round, ..*share }), Accounts::Units(units as u32))
            }
            (terms, _, Some(blocks)) => (terms.clone(), Accounts::Blocks(blocks)),
            (terms, _, None) => (terms.clone(), Accounts::One),
        }
    }
}

impl Ask for Opening {
    const KIND: Kind = Kind::Open;
    type Reply = Done;
}

impl Ask for Close {
    const KIND: Kind = Kind::Close;
    type Reply = Closed;
}

/// A finite number above 0: a price is made of it. (It is the ledger that keeps a promise, whatever
/// is asked for; this leaves no number that means nothing.)
fn positive(reader: &mut Reader<'_>) -> Result<f64, CodecError> {
    let value = reader.f64()?;
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(CodecError::Shape(format!("{value} where a finite number above 0 is due")))
    }
}

/// A share of a whole.
fn part(reader: &mut Reader<'_>) -> Result<f64, CodecError> {
    let value = reader.f64()?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(CodecError::Shape(format!("{value} where a share from 0 to 1 is due")))
    }
}

/// A number that its type refuses, named.
fn checked<T, E: std::fmt::Display>(value: Result<T, E>) -> Result<T, CodecError> {
    value.map_err(|error| CodecError::Shape(error.to_string()))
}

impl Encode for Opening {
    fn encode(&self, writer: &mut Writer) {
        self.offer.encode(writer);
        self.terms.encode(writer);
        writer.option(self.cap.as_ref(), |writer, cap| writer.f64(*cap));
        writer.u8(u8::from(self.shaped));
        writer.option(self.blocks.as_ref(), |writer, blocks| writer.u32(*blocks));
        writer.option(self.by_record.as_ref(), |writer, more| writer.f64(*more));
    }
}

impl Decode for Opening {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            offer: Offer::decode(reader)?,
            terms: Terms::decode(reader)?,
            cap: reader.option("cap", Reader::f64)?,
            shaped: reader.flag("shape")?,
            blocks: reader.option("blocks", Reader::u32)?,
            by_record: reader.option("accounts", positive)?,
        })
    }
}

impl Encode for Terms {
    fn encode(&self, writer: &mut Writer) {
        match self {
            // Scales come with the rounds that they are for.
            Self::Open | Self::OfMean(_) => writer.u8(0),
            Self::Exact(Share { round, table }) => {
                writer.u8(1);
                writer.f64(*round);
                writer.f64(*table);
            }
            Self::Poisson { sampler, noise_multiplier, table } => {
                writer.u8(2);
                writer.f64(sampler.0.value());
                writer.f64(noise_multiplier.value());
                writer.f64(*table);
            }
        }
    }
}

impl Decode for Terms {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            0 => Ok(Self::Open),
            1 => Ok(Self::Exact(Share { round: positive(reader)?, table: part(reader)? })),
            2 => Ok(Self::Poisson {
                sampler: Poisson(checked(SampleRate::try_from(reader.f64()?))?),
                noise_multiplier: checked(NoiseMultiplier::try_from(reader.f64()?))?,
                table: part(reader)?,
            }),
            found => Err(CodecError::Tag { what: "terms", found }),
        }
    }
}

impl Encode for Offer {
    fn encode(&self, writer: &mut Writer) {
        let Self { run, method, mode, notion, rounds, epsilon, delta, claim, noise } = self;
        [run, method, mode, notion].into_iter().for_each(|word| writer.text(word));
        writer.u32(*rounds);
        writer.f64(*epsilon);
        writer.f64(*delta);
        match claim {
            Claim::Nothing => writer.u8(0),
            Claim::Gaussian => writer.u8(1),
            Claim::Sampled(event) => {
                writer.u8(2);
                event.encode(writer);
            }
            Claim::Pure => writer.u8(3),
            Claim::Shared(shares) => {
                writer.u8(4);
                writer.u32(shares.sites());
                writer.u32(shares.colluders());
            }
        }
        noise.encode(writer);
    }
}

impl Decode for Offer {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (run, method) = (reader.text()?, reader.text()?);
        let (mode, notion) = (reader.text()?, reader.text()?);
        let (rounds, epsilon, delta) = (reader.u32()?, reader.f64()?, reader.f64()?);
        let claim = match reader.u8()? {
            0 => Claim::Nothing,
            1 => Claim::Gaussian,
            2 => Claim::Sampled(Event::decode(reader)?),
            3 => Claim::Pure,
            4 => Claim::Shared(checked(NoiseShares::new(reader.u32()?, reader.u32()?))?),
            found => return Err(CodecError::Tag { what: "claim", found }),
        };
        let noise = NoiseKind::decode(reader)?;
        Ok(Self { run, method, mode, notion, rounds, epsilon, delta, claim, noise })
    }
}

impl Encode for Event {
    fn encode(&self, writer: &mut Writer) {
        match self.sampling {
            Sampling::FullBatch => writer.u8(0),
            Sampling::Poisson(rate) => {
                writer.u8(1);
                writer.f64(rate.value());
            }
            Sampling::WithoutReplacement(batch) => {
                writer.u8(2);
                writer.u64(batch.batch());
                writer.u64(batch.records());
            }
        }
        writer.u8(match self.neighbours {
            Neighbours::ReplaceCentred => 0,
            Neighbours::Replace => 1,
            Neighbours::AddRemove => 2,
        });
        writer.f64(self.noise_multiplier.value());
        writer.u64(self.rounds.into());
    }
}

impl Decode for Event {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let sampling = match reader.u8()? {
            0 => Sampling::FullBatch,
            1 => Sampling::Poisson(checked(SampleRate::try_from(reader.f64()?))?),
            2 => {
                let (batch, records) = (reader.u64()?, reader.u64()?);
                Sampling::WithoutReplacement(checked(FixedBatch::new(batch, records))?)
            }
            found => return Err(CodecError::Tag { what: "sampling", found }),
        };
        let neighbours = match reader.u8()? {
            0 => Neighbours::ReplaceCentred,
            1 => Neighbours::Replace,
            2 => Neighbours::AddRemove,
            found => return Err(CodecError::Tag { what: "neighbours", found }),
        };
        let noise_multiplier = checked(NoiseMultiplier::try_from(reader.f64()?))?;
        let rounds = checked(Rounds::try_from(reader.u64()?))?;
        Ok(Self { sampling, neighbours, noise_multiplier, rounds })
    }
}

impl Encode for Close {
    fn encode(&self, _: &mut Writer) {}
}

impl Decode for Close {
    fn decode(_: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self)
    }
}

/// Receipts are each store's own, and sent in the clear.
impl Masked for Closed {
    fn mask(&mut self, _: &mut dyn FnMut(usize) -> Vec<i128>) {}
}

impl Encode for Closed {
    fn encode(&self, writer: &mut Writer) {
        writer.values(&self.receipts);
        writer.option(self.spent.as_ref(), |writer, spent| writer.f64(*spent));
    }
}

impl Decode for Closed {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { receipts: reader.values()?, spent: reader.option("mu", Reader::f64)? })
    }
}

impl Encode for Receipt {
    fn encode(&self, writer: &mut Writer) {
        let Self { sequence, grant, request, fresh, round, kind, cost, noise, reply } = self;
        writer.u64(*sequence);
        writer.u64(grant.0);
        writer.raw(request);
        writer.u32(*fresh);
        writer.option(round.as_ref(), |writer, round| writer.u32(*round));
        writer.u8(match kind {
            Released::Sums => 0,
            Released::Features => 1,
            Released::Classes => 2,
            Released::Counts => 3,
        });
        match *cost {
            Cost::Free => writer.u8(0),
            Cost::Gaussian { squared, slack, numbers } => {
                writer.u8(1);
                writer.f64(squared);
                writer.f64(slack);
                writer.u64(numbers);
            }
            Cost::Planned { squared, slack, numbers } => {
                writer.u8(2);
                writer.f64(squared);
                writer.f64(slack);
                writer.u64(numbers);
            }
            Cost::Pure { epsilon } => {
                writer.u8(3);
                writer.f64(epsilon);
            }
            Cost::Revealed => writer.u8(4),
        }
        noise.encode(writer);
        writer.raw(reply);
    }
}

impl Decode for Receipt {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (sequence, grant) = (reader.u64()?, GrantId(reader.u64()?));
        let (request, fresh) = (reader.hash()?, reader.u32()?);
        let round = reader.option("round", Reader::u32)?;
        let kind = match reader.u8()? {
            0 => Released::Sums,
            1 => Released::Features,
            2 => Released::Classes,
            3 => Released::Counts,
            found => return Err(CodecError::Tag { what: "release", found }),
        };
        let cost = match reader.u8()? {
            0 => Cost::Free,
            1 => Cost::Gaussian {
                squared: reader.f64()?,
                slack: reader.f64()?,
                numbers: reader.u64()?,
            },
            2 => Cost::Planned {
                squared: reader.f64()?,
                slack: reader.f64()?,
                numbers: reader.u64()?,
            },
            3 => Cost::Pure { epsilon: reader.f64()? },
            4 => Cost::Revealed,
            found => return Err(CodecError::Tag { what: "cost", found }),
        };
        let noise = NoiseKind::decode(reader)?;
        let reply = reader.hash()?;
        Ok(Self { sequence, grant, request, fresh, round, kind, cost, noise, reply })
    }
}
