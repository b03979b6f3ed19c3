//! How nodes come together: who they are, and what all of them agree on.

use steffle_model::fairness::Notion;
use steffle_model::scores::OutputScores;
use steffle_privacy::ledger::NoiseKind;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::fit::Tables;
use super::request::{Ask, Done};

/// What a node holds.
///
/// Features and labels, sensitive attributes, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Features and labels.
    Records = 1,
    /// The sensitive attribute.
    Attributes = 2,
    /// Both, under one roof.
    Both = 3,
}

impl Role {
    /// Whether it answers about records.
    pub fn has_records(self) -> bool {
        self != Self::Attributes
    }
}

/// Asks a node who it is. A run begins with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Describe {
    /// In a run under masks: what sites sign. They say hello, and neither how many records they have nor
    /// what these look like.
    pub masked: Option<MaskTerms>,
}

/// What all sites of a run under masks sign in their hellos: what is claimed rests on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskTerms {
    /// How many sites may help the server without learning what one other adds.
    pub colluders: u16,
    /// Where noise comes from.
    pub noise: NoiseKind,
    /// Where sites share noise: how many may help the server for what is claimed then.
    pub shared: Option<u16>,
}

impl MaskTerms {
    /// With noise from a seed, which nobody shares.
    pub fn against(colluders: u16) -> Self {
        Self { colluders, noise: NoiseKind::Simulation, shared: None }
    }
}

/// Who a node is.
///
/// How many records it has and a summary of its columns; nothing of it is computed from `s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// What it holds.
    pub role: Role,
    /// Records it has features of.
    pub records: u64,
    /// What its columns look like, in bytes that whoever agrees on a schema understands; the server
    /// does not. Nothing in them is computed from `s`.
    pub summary: Vec<u8>,
    /// What it says to all others under masks; empty without.
    pub hello: Vec<u8>,
}

/// Which scores a record has, by name: nodes build them.
///
/// What a fairness penalty is about; no code travels.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// The name; `outputs` are SteFFLe's.
    pub name: String,
    /// The fairness notion: which cell a record is in.
    pub notion: Notion,
    /// Sensitive classes, k.
    pub classes: usize,
    /// Labels, l.
    pub labels: usize,
    /// tau: how much closer scores are to decisions than the model's outputs.
    pub sharpness: f64,
}

impl From<OutputScores> for Scores {
    fn from(objective: OutputScores) -> Self {
        let OutputScores { notion, classes, labels, sharpness } = objective;
        Self { name: Self::OUTPUTS.to_owned(), notion, classes, labels, sharpness }
    }
}

impl Scores {
    /// The name of SteFFLe's own scores: the model's outputs.
    pub const OUTPUTS: &'static str = "outputs";

    /// The size of class tables of these scores.
    pub fn tables(&self) -> Tables {
        let (cells, columns) = (self.notion.cells(), self.notion.outcomes(self.labels));
        Tables { cells, classes: self.classes, columns }
    }
}

/// What all nodes of a run agree on; also who is there.
///
/// A node that cannot build what is named here refuses.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// The schema, in bytes that the node's holdings understand.
    pub schema: Vec<u8>,
    /// The model's name.
    pub model: String,
    /// The scores.
    pub scores: Scores,
    /// The seed of everything random in a simulation, noise aside where that is secure.
    pub seed: u64,
    /// Where the noise comes from.
    pub noise: NoiseKind,
    /// Nodes with records: the first of the roster.
    pub silos: u32,
    /// Nodes with attributes alone: those after them.
    pub holders: u32,
}

/// A letter to holders of attributes: the units of a silo's records, which all holders know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Units {
    /// Record ids.
    pub ids: Vec<u64>,
    /// The unit of each, from 0 without gaps; `None` where each is its own.
    pub units: Option<Vec<u32>>,
}

impl Ask for Describe {
    const KIND: Kind = Kind::Describe;
    type Reply = Described;
}

impl Ask for Join {
    const KIND: Kind = Kind::Join;
    type Reply = Done;
}

impl Encode for Describe {
    fn encode(&self, writer: &mut Writer) {
        writer.option(self.masked.as_ref(), |writer, terms| {
            writer.u16(terms.colluders);
            terms.noise.encode(writer);
            writer.option(terms.shared.as_ref(), |writer, most| writer.u16(*most));
        });
    }
}

impl Decode for Describe {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let terms = |reader: &mut Reader<'_>| {
            Ok(MaskTerms {
                colluders: reader.u16()?,
                noise: NoiseKind::decode(reader)?,
                shared: reader.option("shared noise", Reader::u16)?,
            })
        };
        Ok(Self { masked: reader.option("masks", terms)? })
    }
}

impl Encode for Described {
    fn encode(&self, writer: &mut Writer) {
        writer.u8(self.role as u8);
        writer.u64(self.records);
        writer.blob(&self.summary);
        writer.blob(&self.hello);
    }
}

impl Decode for Described {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let role = match reader.u8()? {
            1 => Role::Records,
            2 => Role::Attributes,
            3 => Role::Both,
            found => return Err(CodecError::Tag { what: "role", found }),
        };
        let (records, summary) = (reader.u64()?, reader.blob()?.to_vec());
        Ok(Self { role, records, summary, hello: reader.blob()?.to_vec() })
    }
}

impl Encode for Scores {
    fn encode(&self, writer: &mut Writer) {
        writer.text(&self.name);
        let (tag, number) = match self.notion {
            Notion::None => (0, 0),
            Notion::DemographicParity => (1, 0),
            Notion::EqualizedOdds { labels } => (2, labels as u32),
            Notion::EqualOpportunity { favourable } => (3, u32::from(favourable)),
            Notion::Conditional { strata } => (4, strata as u32),
            Notion::AccuracyParity => (5, 0),
        };
        writer.u8(tag);
        writer.u32(number);
        writer.u32(self.classes as u32);
        writer.u32(self.labels as u32);
        writer.f64(self.sharpness);
    }
}

impl Decode for Scores {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        /// Cells, classes and labels are numbered by 16 bits.
        const MOST: u32 = u16::MAX as u32;
        let name = reader.text()?;
        let (tag, number) = (reader.u8()?, reader.u32()?);
        let (classes, labels) = (reader.u32()?, reader.u32()?);
        if [number, classes, labels].iter().any(|&count| count >= MOST) {
            return Err(CodecError::Shape(format!("more than {MOST} classes, labels or cells")));
        }
        let count = number as usize;
        let notion = match tag {
            0 => Notion::None,
            1 => Notion::DemographicParity,
            2 => Notion::EqualizedOdds { labels: count },
            3 => Notion::EqualOpportunity { favourable: number as u16 },
            4 => Notion::Conditional { strata: count },
            5 => Notion::AccuracyParity,
            found => return Err(CodecError::Tag { what: "notion", found }),
        };
        let (classes, labels) = (classes as usize, labels as usize);
        let sharpness = reader.f64()?;
        if !sharpness.is_finite() {
            return Err(CodecError::Shape("the sharpness is not finite".to_owned()));
        }
        Ok(Self { name, notion, classes, labels, sharpness })
    }
}

impl Encode for NoiseKind {
    fn encode(&self, writer: &mut Writer) {
        writer.u8(match self {
            Self::Simulation => 0,
            Self::Secure => 1,
        });
    }
}

impl Decode for NoiseKind {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(if reader.flag("noise")? { Self::Secure } else { Self::Simulation })
    }
}

impl Encode for Join {
    fn encode(&self, writer: &mut Writer) {
        writer.blob(&self.schema);
        writer.text(&self.model);
        self.scores.encode(writer);
        writer.u64(self.seed);
        self.noise.encode(writer);
        writer.u32(self.silos);
        writer.u32(self.holders);
    }
}

impl Decode for Join {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        /// Letters go to every node of the roster.
        const MOST: u32 = 1 << 16;
        let join = Self {
            schema: reader.blob()?.to_vec(),
            model: reader.text()?,
            scores: Scores::decode(reader)?,
            seed: reader.u64()?,
            noise: NoiseKind::decode(reader)?,
            silos: reader.u32()?,
            holders: reader.u32()?,
        };
        if join.silos > MOST || join.holders > MOST {
            return Err(CodecError::Shape(format!("a roster of more than {MOST} nodes")));
        }
        Ok(join)
    }
}

impl Encode for Units {
    fn encode(&self, writer: &mut Writer) {
        writer.list(&self.ids, u64::to_le_bytes);
        writer.option(self.units.as_ref(), |writer, units| writer.list(units, u32::to_le_bytes));
    }

    fn size_hint(&self) -> usize {
        1000 + 12 * self.ids.len()
    }
}

impl Decode for Units {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let ids = reader.list(u64::from_le_bytes)?;
        let units = reader.option("units", |reader| reader.list(u32::from_le_bytes))?;
        let fits = |units: &Vec<u32>| {
            // Room is taken for as many units as the largest number says.
            units.len() == ids.len() && units.iter().all(|&unit| (unit as usize) < ids.len())
        };
        if units.as_ref().is_some_and(|units| !fits(units)) {
            return Err(CodecError::Shape("units are not one per record".to_owned()));
        }
        Ok(Self { ids, units })
    }
}
