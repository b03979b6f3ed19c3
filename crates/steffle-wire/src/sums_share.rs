//! A site's share of a round's sums about `s`: integers, which mean something once those of all sites
//! are added up.

use steffle_model::decode::{RoundScale, ShareScale};

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::summed::{Sum, SumRoom, Summed, Totals};

/// What a site that shares noise releases in a round: the integers of
/// [`PrivateSums`](super::PrivateSums), in the coordinates of the noise, with its share of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumsShare {
    /// Per cell, `[input][output]`, whitened where noise is shaped; none where the question has no theta
    /// message.
    pub thetas: Vec<Vec<i128>>,
    /// Per cell, `[class][column]` of the classes that are sent: of two the second alone.
    pub tables: Vec<Vec<i128>>,
}

impl SumsShare {
    /// What was released, as the part of one of `sites` sites.
    pub fn summed(&self, sites: usize) -> Summed<Self> {
        Summed::of_released(sites, SumRoom::default(), |numbers| {
            for lists in [&self.thetas, &self.tables] {
                numbers.length(lists.len());
                lists.iter().for_each(|list| numbers.integers(list));
            }
        })
    }

    /// The bytes of the share. It has no encoding of its own: only what was released is kept.
    pub fn write(&self, writer: &mut Writer) {
        for lists in [&self.thetas, &self.tables] {
            writer.u32(lists.len() as u32);
            lists.iter().for_each(|list| writer.list(list, i128::to_le_bytes));
        }
    }
}

impl Decode for SumsShare {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut lists = || {
            let count = reader.u32()?;
            let lists = (0..count).map(|_| reader.list(i128::from_le_bytes));
            lists.collect::<Result<Vec<_>, CodecError>>()
        };
        Ok(Self { thetas: lists()?, tables: lists()? })
    }
}

impl Sum for SumsShare {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        let mut lists = || {
            let count = totals.length()?;
            (0..count).map(|_| totals.integers()).collect::<Result<Vec<_>, CodecError>>()
        };
        Ok(Self { thetas: lists()?, tables: lists()? })
    }
}

impl Encode for RoundScale {
    fn encode(&self, writer: &mut Writer) {
        writer.raw(&self.exponent.to_le_bytes());
        writer.option(self.theta.as_ref(), |writer, theta| theta.encode(writer));
        self.table.encode(writer);
    }
}

impl Decode for RoundScale {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let exponent = reader.u32()?.cast_signed();
        let theta = reader.option("share", ShareScale::decode)?;
        Ok(Self { exponent, theta, table: ShareScale::decode(reader)? })
    }
}
