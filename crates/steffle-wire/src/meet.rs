//! How sites meet under masks: everybody's hello to everybody, and the first sum.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::request::Ask;
use super::summed::{Numbers, Sum, Summand, Summed, Totals};

/// Gives every site the hellos of all, in the order of the roster, and asks for the first masked sum.
///
/// A site that finds its own hello at its own place, knows everybody and finds all signatures to be
/// about this run answers; what it says of its columns is no one's but the total's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meet {
    /// Hellos by node; the server does not understand them.
    pub hellos: Vec<Vec<u8>>,
    /// What the sites' columns are to be measured from, in bytes that holdings understand; empty where
    /// they are encoded already.
    pub columns: Vec<u8>,
}

/// A site's part: records, and what is added up about its columns.
///
/// Their total is what standardisation needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Met {
    /// Records.
    pub records: u64,
    /// Numbers about columns.
    pub columns: Vec<f64>,
}

impl Ask for Meet {
    const KIND: Kind = Kind::Meet;
    type Reply = Summed<Met>;
}

impl Sum for Met {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        Ok(Self { records: totals.count()?, columns: totals.list()? })
    }
}

impl Summand for Met {
    fn write(&self, numbers: &mut Numbers) {
        numbers.count(self.records);
        numbers.list(&self.columns);
    }
}

impl Encode for Meet {
    fn encode(&self, writer: &mut Writer) {
        writer.u32(self.hellos.len() as u32);
        self.hellos.iter().for_each(|hello| writer.blob(hello));
        writer.blob(&self.columns);
    }
}

impl Decode for Meet {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let count = reader.u32()?;
        let hellos = (0..count).map(|_| reader.blob().map(<[u8]>::to_vec));
        let hellos = hellos.collect::<Result<_, _>>()?;
        Ok(Self { hellos, columns: reader.blob()?.to_vec() })
    }
}
