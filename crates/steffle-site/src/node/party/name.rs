//! What a request is called in the book of a store.

use steffle_attributes::Request;
use steffle_privacy::ledger::Claim;
use steffle_wire::{Encode, Opening, Writer};

use super::Party;

impl Party {
    /// The name of a request: what it says and its round, not when or in which run. Where nothing is
    /// claimed nobody keeps replies, and a hash would take longer than a small round.
    pub(in crate::node) fn request(&self, round: u32, parts: &[&[u8]]) -> Request {
        self.name(round, parts).in_round(round)
    }

    /// The same for a question that belongs to no round: what was answered to it for the `fresh`th
    /// time, whatever was asked in between.
    pub(in crate::node) fn name(&self, fresh: u32, parts: &[&[u8]]) -> Request {
        let claims = |opening: &&Opening| opening.offer.claim != Claim::Nothing;
        let Some(opening) = self.opening.as_ref().filter(claims) else {
            return Request::default();
        };
        // What the payload means: columns, cells, layers and scores; and what the reply is released
        // under, or a run with a larger budget would get the noise of one before it.
        let mut meaning = Writer::default();
        meaning.text(&self.join.model);
        self.join.scores.encode(&mut meaning);
        opening.terms.encode(&mut meaning);
        meaning.option(opening.cap.as_ref(), |writer, cap| writer.f64(*cap));
        meaning.u8(u8::from(opening.shaped));
        meaning.option(opening.by_record.as_ref(), |writer, more| writer.f64(*more));
        let meaning = meaning.finish();
        let agreed = [&self.schema.0[..], &meaning[..]];
        let parts: Vec<_> = agreed.into_iter().chain(parts.iter().copied()).collect();
        Request::new(fresh, &parts)
    }
}
