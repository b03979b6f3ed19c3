//! Masks: what a node does so that nobody sees its part of a sum.
//!
//! A run under masks begins by hellos and a meeting. From then on every reply that is added up over
//! sites is covered by a mask whose name is a hash of all that was asked before, and noted before it
//! is sent. No refusal is an oracle: what is out of range is so by the question alone, and whatever
//! else is refused ends the run at this site.

mod ranges;

use steffle_masks::{
    Asked, Greeting, Hash, History, Identity, Journal, JournalError, MeetError, Meeting, Memory,
    Pads, Roster, Terms, hash,
};
use steffle_privacy::ledger::{NoiseKind, Offer};
use steffle_wire::{
    Envelope, Join, Kind, MaskTerms, Meet, NodeId, Opening, Reader, Refused, Role, TakeIn, decode,
};

/// The code of what is refused because of masks.
pub(super) const CODE: &str = "steffle::node::masks";

/// What a site brings to a run under masks: its key, whom it knows, what it insists on, and a journal.
pub struct Masking {
    identity: Identity,
    roster: Roster,
    policy: MaskPolicy,
    journal: Journal,
    /// No key of anybody's own: one machine plays all sites.
    simulated: bool,
    /// What this run's hellos sign.
    signed: Option<MaskTerms>,
    /// The epoch of its data, and these: digests of all records, in ascending order.
    data: (u32, Vec<u64>),
}

/// What a site insists on under masks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskPolicy {
    /// It answers under masks or not at all.
    pub require: bool,
    /// The fewest sites of a sum. With two, each knows the other's part.
    pub min_sites: usize,
    /// At least so many sites may help the server without learning what one other adds.
    pub colluders: u16,
    /// The most questions of a run.
    pub questions: Option<u64>,
    /// The fewest records that are altered between two runs, where any are.
    pub min_change: u64,
}

impl Default for MaskPolicy {
    fn default() -> Self {
        Self { require: false, min_sites: 3, colluders: 0, questions: None, min_change: 50 }
    }
}

/// Where a run under masks is.
#[derive(Default)]
pub(super) enum Stage {
    /// Nowhere: replies go out as they are.
    #[default]
    Clear,
    /// It has said hello.
    Greeted(Box<Greeting>),
    /// It has met the others.
    Met(Box<Veiled>),
    /// It has refused something.
    Over,
}

/// A run whose replies are covered.
pub(super) struct Veiled {
    meeting: Meeting,
    history: History,
    sites: usize,
    questions: u64,
}

/// A mask, before its request is answered.
pub(super) struct Cover {
    pub(super) pads: Option<Pads>,
    context: Hash,
    after: History,
}

impl Masking {
    /// A site's own.
    pub fn new(identity: Identity, roster: Roster, policy: MaskPolicy, journal: Journal) -> Self {
        let (signed, data) = (None, (0, Vec::new()));
        Self { identity, roster, policy, journal, simulated: false, signed, data }
    }

    /// That of one of `sites` parties on one machine, which knows all keys: the same bytes are hidden
    /// from nobody. `None` where there is no such place.
    pub fn simulated(place: usize, sites: usize) -> Option<Self> {
        let name = |place: usize| format!("party {place}");
        let identity =
            |place: usize| Identity::new(&hash(&[b"steffle simulated", name(place).as_bytes()]));
        let all = (0..sites).map(|place| (identity(place).fingerprint(), name(place)));
        let roster = Roster::new(all).ok().filter(|_| place < sites)?;
        let journal = Journal::new([], Box::new(Memory::new(name(place).as_bytes())));
        let policy = MaskPolicy { min_sites: 2, ..MaskPolicy::default() };
        let own = Self::new(identity(place), roster, policy, journal);
        Some(Self { simulated: true, ..own })
    }

    /// Whether the key is a site's own.
    pub(super) fn is_real(&self) -> bool {
        !self.simulated
    }

    /// A run begins: with a hello under masks, which it gives back, or in the clear. `records` are the
    /// digests of all records; of a simulation nobody remembers them.
    pub(super) fn describe(
        &mut self,
        envelope: &Envelope,
        message: &[u8],
        (role, asked): (Role, Option<MaskTerms>),
        records: impl FnOnce() -> Vec<u64>,
    ) -> Result<Stage, Refused> {
        let Some(MaskTerms { colluders, noise, shared }) = asked else {
            if self.policy.require {
                return Err(refused(
                    "this site's policy: it answers under masks only (<secure-aggregation>)",
                ));
            }
            // A store of a simulation has nothing to remember.
            if !self.simulated {
                self.journal.clear().map_err(unkept)?;
            }
            return Ok(Stage::Clear);
        };
        let sites = self.roster.len();
        let least = self.policy.min_sites.max(2);
        if sites < least {
            return Err(refused(format!(
                "this site's policy: {sites} sites add up, and it answers with at least {least}; of two, \
                 each knows the other's part"
            )));
        }
        self.withstands(colluders.into())?;
        if role != Role::Both {
            return Err(divided());
        }
        if !self.simulated {
            let records = records();
            let epoch = self.journal.epoch(&records, self.policy.min_change).map_err(unkept)?;
            self.data = (epoch, records);
        }
        self.signed = asked;
        let (run, role) = (envelope.run.0, role as u8);
        let noise = u8::from(noise == NoiseKind::Secure);
        let terms = Terms { run, role, colluders, noise, shared };
        let secret = self.journal.begin(self.roster.digest(), hash(&[message])).map_err(unkept)?;
        let greeting =
            Greeting::new(&self.identity, self.roster.clone(), terms, (&secret, self.data.0));
        Ok(Stage::Greeted(Box::new(greeting.map_err(refused)?)))
    }

    /// Refuses an offer whose noise is shared against fewer sites than this one insists on, or is not what
    /// all sites signed when they met.
    pub(super) fn offered(&self, opening: &Opening) -> Result<(), Refused> {
        let Offer { claim, noise, .. } = &opening.offer;
        let Some(shares) = claim.shares() else { return Ok(()) };
        self.withstands(shares.colluders())?;
        let signed = |signed: MaskTerms| {
            signed.noise == *noise && signed.shared.map(u32::from) == Some(shares.colluders())
        };
        if self.signed.is_some_and(signed) {
            return Ok(());
        }
        Err(refused("noise is to be shared otherwise than all sites signed when they met"))
    }

    fn withstands(&self, colluders: u32) -> Result<(), Refused> {
        let (sites, least) = (self.roster.len(), self.policy.colluders);
        if colluders >= u32::from(least) && colluders as usize + 2 <= sites {
            return Ok(());
        }
        Err(refused(format!(
            "{colluders} of {sites} sites may help the server; this site wants at least {least}, and at \
             least two must not"
        )))
    }

    /// Meets the others; refuses a stranger, a hello of another run, another place than its own, and data
    /// that have changed at too few sites.
    pub(super) fn meet(
        &mut self,
        greeting: &Greeting,
        me: NodeId,
        meet: &Meet,
    ) -> Result<Stage, Refused> {
        let hellos: Vec<&[u8]> = meet.hellos.iter().map(Vec::as_slice).collect();
        let meeting = greeting.meet(&hellos).map_err(refused)?;
        let place = (me.0 as usize).wrapping_sub(1);
        if hellos.get(place) != Some(&&greeting.hello().to_bytes()[..]) {
            return Err(refused(MeetError::Own));
        }
        if let Some(MaskTerms { colluders, .. }) = self.signed.filter(|_| !self.simulated) {
            let (epoch, records) = &self.data;
            let met = self.journal.meet(colluders, meeting.epochs(), (*epoch, records));
            met.map_err(unkept)?;
        }
        let (history, sites) = (meeting.history(), self.roster.len());
        Ok(Stage::Met(Box::new(Veiled { meeting, history, sites, questions: 0 })))
    }

    /// Notes a reply before it is sent; refuses another one for the same request.
    pub(super) fn note(
        &mut self,
        veiled: &mut Veiled,
        cover: Cover,
        sequence: u64,
        reply: &[u8],
    ) -> Result<(), Refused> {
        self.journal.answer(sequence, cover.context, hash(&[reply])).map_err(unkept)?;
        veiled.history = cover.after;
        veiled.questions += 1;
        Ok(())
    }

    /// Ends the run at this site for good.
    pub(super) fn end(&mut self) -> Result<(), Refused> {
        self.journal.end().map_err(unkept)
    }

    /// Refuses a question for its words alone: a second meeting, one question more than the site allows in
    /// a run, one out of range.
    pub(super) fn allows(
        &self,
        veiled: &Veiled,
        kind: Kind,
        payload: &[u8],
    ) -> Result<(), Refused> {
        if kind == Kind::Meet && veiled.questions > 0 {
            return Err(refused("the sites have met already"));
        }
        match self.policy.questions {
            Some(most) if veiled.questions >= most => {
                Err(refused(format!("this site's policy: at most {most} questions in one run")))
            }
            _ => ranges::within(kind, payload).and_then(|()| without_letters(kind, payload)),
        }
    }
}

impl Cover {
    /// What the mask is called: no other request of any run has it.
    pub(super) fn name(&self) -> Hash {
        self.context
    }
}

impl Veiled {
    /// Sites that add up.
    pub(super) fn sites(&self) -> usize {
        self.sites
    }

    /// The mask of the reply to a request.
    pub(super) fn cover(&self, envelope: &Envelope, payload: &[u8]) -> Result<Cover, Refused> {
        let mut after = self.history.clone();
        let Envelope { sequence, round, kind, .. } = *envelope;
        after.push(&Asked { sequence, kind: kind as u8, round, body: payload });
        let context = after.context();
        let pads = self.meeting.pads(&context).ok_or_else(|| refused("no mask can be made"))?;
        Ok(Cover { pads: Some(pads), context, after })
    }
}

/// Refuses to take in what somebody wrote in letters: a holder that helps the server could write something
/// else to every site, and what all are asked afterwards would be about one.
fn without_letters(kind: Kind, payload: &[u8]) -> Result<(), Refused> {
    match (kind, decode(Reader::new(payload))) {
        (Kind::TakeIn, Ok(TakeIn::Classes { .. })) => {
            Err(refused("letters are not taken in: nobody knows whether all sites got the same"))
        }
        _ => Ok(()),
    }
}

/// Refuses a run of other parties than those that met.
pub(super) fn fits(payload: &[u8], sites: usize) -> Result<(), Refused> {
    let join: Join = decode(Reader::new(payload))?;
    if join.silos as usize == sites && join.holders == 0 {
        return Ok(());
    }
    Err(refused("the run has other parties than those that have met"))
}

/// Refuses masks where there is no key.
pub(super) fn nobody() -> Refused {
    refused("this site has no key")
}

/// Refuses masks at a site with one division.
pub(super) fn divided() -> Refused {
    refused(
        "under masks every site has both divisions: what a holder elsewhere is sent, and what it sends \
         back, is about one silo",
    )
}

/// A refusal because of masks.
pub(super) fn refused(why: impl std::fmt::Display) -> Refused {
    Refused::new(CODE, why)
}

/// A refusal of the journal. What the operating system says of its file is for the site's owner.
fn unkept(error: JournalError) -> Refused {
    match error {
        JournalError::Stopped(_) => Refused::new("steffle::node::journal", error),
        error => refused(error),
    }
}

/// Whether a request is answered under masks at all.
pub(super) fn before_the_meeting(kind: Kind) -> Refused {
    refused(format!("{kind:?} before the sites have met"))
}
