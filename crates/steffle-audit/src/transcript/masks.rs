//! A run under masks: what its journal can show.
//!
//! What one site sent is noise to everybody else, so it is compared with no book. What is read of it are totals,
//! and these can be made again from the journal: that the masks of every trip cancel shows that all sites took
//! the same hellos, the same history and the same question, and that none is missing. Whether a matrix of
//! products was without the columns that hardly any record has is in it, too.

use std::collections::{BTreeMap, BTreeSet};

use steffle_wire::{
    Added, Ask, CodecError, Count, Envelope, FitQuestion, Gap, ImputedQuestion, Kind, Loss, Meet,
    Part, PassQuestion, Pool, Round, decode, parse, payload,
};

use super::Frame;
use super::check::Findings;

/// The replies of one trip, and what was found so far.
#[derive(Default)]
pub(super) struct Masks {
    /// Totals whose masks cancel.
    pub(super) totals: u64,
    /// Nodes that were greeted.
    sites: BTreeSet<u32>,
    trip: Option<Trip>,
    /// Columns that are to be left out, once they were counted.
    rare: Option<Vec<u32>>,
}

struct Trip {
    envelope: Envelope,
    frame: u64,
    body: Vec<u8>,
    replies: BTreeMap<u32, Vec<u8>>,
}

impl Masks {
    /// A request; the trip before it is over.
    pub(super) fn request(&mut self, frame: &Frame, number: u64, findings: &mut Findings) {
        let Ok((envelope, _)) = parse(&frame.bytes) else { return };
        if envelope.kind == Kind::Describe {
            self.sites.insert(frame.node.0);
            return;
        }
        let body = payload(&frame.bytes);
        match &self.trip {
            Some(trip) if trip.envelope.sequence == envelope.sequence => {
                if trip.body != body {
                    let was = trip.frame;
                    let what =
                        format!("another request than in frame {was}: sites are asked the same");
                    findings.add(Some(number), what);
                }
            }
            _ => {
                self.end(findings);
                let (body, replies) = (body.to_vec(), BTreeMap::new());
                self.trip = Some(Trip { envelope, frame: number, body, replies });
            }
        }
    }

    /// A reply.
    pub(super) fn reply(&mut self, frame: &Frame) {
        let Ok((envelope, _)) = parse(&frame.bytes) else { return };
        if let Some(trip) = &mut self.trip
            && trip.envelope.sequence == envelope.sequence
            && envelope.part == Part::Reply
        {
            trip.replies.insert(frame.node.0, frame.bytes.clone());
        }
    }

    /// Adds up what sites answered in the trip that is over.
    pub(super) fn end(&mut self, findings: &mut Findings) {
        let Some(trip) = self.trip.take() else { return };
        self.left_out(&trip, findings);
        // A trip that a site refused, or that was cut off, has no total.
        if trip.replies.len() != self.sites.len() {
            return;
        }
        let replies: Vec<&[u8]> = trip.replies.values().map(Vec::as_slice).collect();
        match self.total(&trip, &replies) {
            Ok(added) => self.totals += u64::from(added),
            Err(error) => findings.add(Some(trip.frame), format!("no total: {error}")),
        }
    }

    /// Whether the replies to a request are added up; refuses those whose masks do not cancel.
    fn total(&mut self, trip: &Trip, replies: &[&[u8]]) -> Result<bool, CodecError> {
        match trip.envelope.kind {
            Kind::Meet => add::<Meet>(replies).map(drop)?,
            Kind::Loss => add::<Loss>(replies).map(drop)?,
            Kind::Fit => add::<FitQuestion>(replies).map(drop)?,
            Kind::Imputed => add::<ImputedQuestion>(replies).map(drop)?,
            Kind::Pass => add::<PassQuestion>(replies).map(drop)?,
            Kind::Gap => add::<Gap>(replies).map(drop)?,
            Kind::Count => add::<Count>(replies).map(drop)?,
            Kind::Round => add::<Round<'_>>(replies).map(drop)?,
            Kind::Pool => {
                let total = add::<Pool>(replies)?;
                if let Ok(Pool::Entries { .. }) = decode(steffle_wire::Reader::new(&trip.body)) {
                    self.rare = Some(total.rare());
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Matrices of products are without the columns that too few records have.
    fn left_out(&self, trip: &Trip, findings: &mut Findings) {
        let asked = match trip.envelope.kind {
            Kind::Pool => decode(steffle_wire::Reader::new(&trip.body)).ok(),
            _ => None,
        };
        let Some(Pool::Gram { without, .. } | Pool::Curvature { without, .. }) = asked else {
            return;
        };
        let shown = self.rare.iter().flatten().filter(|column| !without.contains(column)).count();
        if self.rare.is_none() || shown > 0 {
            let what = match shown {
                0 => "a matrix before it was asked how many records have each column".to_owned(),
                _ => format!("a matrix with {shown} column(s) that fewer than five records have"),
            };
            findings.add(Some(trip.frame), what);
        }
    }
}

/// What replies add up to.
fn add<A: Ask>(replies: &[&[u8]]) -> Result<<A::Reply as Added>::Total, CodecError>
where
    A::Reply: Added,
{
    let mut all: Option<A::Reply> = None;
    for reply in replies {
        let own: A::Reply = decode(parse(reply)?.1)?;
        match &mut all {
            None => all = Some(own),
            Some(all) => all.add(&own)?,
        }
    }
    all.ok_or(CodecError::Shape("no reply".to_owned()))?.total()
}

#[cfg(test)]
mod tests;
