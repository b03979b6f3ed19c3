//! Hellos become keys of pairs, and keys become masks.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use hkdf::Hkdf;
use sha2::Sha256;
use x25519_dalek::{PublicKey, StaticSecret};

use crate::{Fingerprint, Hash, Hello, Identity, Roster, Secret, hash};

/// What all sites take a run to be, before they have met. A site that takes it to be something else
/// has another signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The run.
    pub run: [u8; 16],
    /// What the sites hold: all the same.
    pub role: u8,
    /// How many sites may help the server.
    pub colluders: u16,
    /// Where noise comes from: all the same.
    pub noise: u8,
    /// Where sites share noise: how many may help the server for what is claimed.
    pub shared: Option<u16>,
}

/// A site that has said hello and waits for the others.
pub struct Greeting {
    terms: Terms,
    roster: Roster,
    /// Its own place in the roster.
    me: usize,
    hello: Hello,
    secret: StaticSecret,
}

/// Why a site does not meet the others. None of it depends on data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeetError {
    /// Its own identity is not in its roster.
    #[error("this site's own key is not in its roster")]
    Stranger,
    /// Another number of hellos.
    #[error("{found} sites say hello, and this site knows {known}: nobody is left out or added")]
    Number {
        /// Hellos.
        found: usize,
        /// Sites of the roster.
        known: usize,
    },
    /// Bytes that are no hello.
    #[error("a hello is damaged")]
    Damaged,
    /// A key that nobody pinned.
    #[error(
        "a site says hello with the key {0}, which is not under [peers]: compare it over the telephone \
         with whoever it is to be, and pin it, or ask why it changed"
    )]
    Unknown(Fingerprint),
    /// Two hellos of one site.
    #[error("{0} says hello twice")]
    Twice(String),
    /// A signature over something else.
    #[error(
        "the hello of {0} is about another run, roster, role, noise or number of colluders: all sites of \
         a federation pin the same keys, and a hello of another run is not taken again"
    )]
    Signature(String),
    /// Not what this site said.
    #[error("this site's own hello is not the one that it said")]
    Own,
    /// A key with which everybody would have the same secret.
    #[error("the key of {0} gives no secret")]
    LowOrder(String),
}

impl Greeting {
    /// Says hello in an epoch of the site's data; refuses an identity that the roster does not have.
    pub fn new(
        identity: &Identity,
        roster: Roster,
        terms: Terms,
        (secret, epoch): (&Secret, u32),
    ) -> Result<Self, MeetError> {
        let me = roster.place(identity.fingerprint()).ok_or(MeetError::Stranger)?;
        let own = StaticSecret::from(secret.key);
        let exchange = PublicKey::from(&own).to_bytes();
        let nonce = secret.nonce;
        let unsigned =
            Hello { identity: identity.public(), exchange, nonce, epoch, signature: [0; 64] };
        let hello = unsigned.sign(identity, &terms, &roster);
        Ok(Self { terms, roster, me, hello, secret: own })
    }

    /// What it says.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The roster that it pinned.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Meets the others: all sites of the roster, each once, with hellos of this run.
    pub fn meet(&self, hellos: &[&[u8]]) -> Result<Meeting, MeetError> {
        let (found, known) = (hellos.len(), self.roster.len());
        if found != known {
            return Err(MeetError::Number { found, known });
        }
        let mut met: Vec<Option<Hello>> = vec![None; known];
        for bytes in hellos {
            let hello = Hello::from_bytes(bytes).ok_or(MeetError::Damaged)?;
            let fingerprint = Fingerprint::of(&hello.identity);
            let place = self.roster.place(fingerprint).ok_or(MeetError::Unknown(fingerprint))?;
            if !hello.is_signed(&hello.signed(&self.terms, &self.roster)) {
                return Err(MeetError::Signature(self.name(place)));
            }
            if met[place].replace(hello).is_some() {
                return Err(MeetError::Twice(self.name(place)));
            }
        }
        // As many as there are, none twice: all of them.
        let met: Vec<Hello> = met.into_iter().flatten().collect();
        if met.get(self.me) != Some(&self.hello) {
            return Err(MeetError::Own);
        }
        let all: Vec<Vec<u8>> = met.iter().map(Hello::to_bytes).collect();
        let salt = hash(&all.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut pairs = Vec::with_capacity(known - 1);
        for (place, hello) in met.iter().enumerate().filter(|(place, _)| *place != self.me) {
            let shared = self.secret.diffie_hellman(&PublicKey::from(hello.exchange));
            if !shared.was_contributory() {
                return Err(MeetError::LowOrder(self.name(place)));
            }
            let key = Hkdf::new(Some(&salt), shared.as_bytes());
            pairs.push(Pair { place, key });
        }
        let epochs = met.iter().map(|hello| hello.epoch).collect();
        let (roster, run) = (self.roster.digest(), self.terms.run);
        Ok(Meeting { me: self.me, roster, run, epochs, pairs })
    }

    /// The hello with another exchange key, signed: what a site of the roster could say.
    #[cfg(test)]
    pub(crate) fn signed_again(&self, identity: &Identity, exchange: Hash) -> Vec<u8> {
        let hello = Hello { exchange, ..self.hello.clone() };
        hello.sign(identity, &self.terms, &self.roster).to_bytes()
    }

    fn name(&self, place: usize) -> String {
        self.roster.sites().get(place).map(|(_, name)| name.clone()).unwrap_or_default()
    }
}

impl Hello {
    /// What it signs.
    fn signed(&self, terms: &Terms, roster: &Roster) -> Hash {
        let shared = terms.shared.map_or(Vec::new(), |most| most.to_le_bytes().to_vec());
        hash(&[
            b"steffle hello 2",
            &terms.run,
            &roster.digest(),
            &[terms.role],
            &terms.colluders.to_le_bytes(),
            &[terms.noise],
            &shared,
            &self.exchange,
            &self.nonce,
            &self.epoch.to_le_bytes(),
        ])
    }

    fn sign(self, identity: &Identity, terms: &Terms, roster: &Roster) -> Self {
        Self { signature: identity.sign(&self.signed(terms, roster)), ..self }
    }
}

/// Sites that have met: a key with every other one.
pub struct Meeting {
    me: usize,
    roster: Hash,
    run: [u8; 16],
    /// Of all sites, in the order of the roster.
    epochs: Vec<u32>,
    pairs: Vec<Pair>,
}

struct Pair {
    place: usize,
    key: Hkdf<Sha256>,
}

impl Meeting {
    /// What histories begin with.
    pub fn history(&self) -> crate::History {
        crate::History::new(self.run, self.roster)
    }

    /// The epochs of all sites' data, in the order of the roster.
    pub fn epochs(&self) -> &[u32] {
        &self.epochs
    }

    /// The mask of one reply, by its name; `None` where a key is too long to be made, which none is.
    pub fn pads(&self, context: &Hash) -> Option<Pads> {
        let stream = |pair: &Pair| {
            let (low, high) = (self.me.min(pair.place), self.me.max(pair.place));
            let info = hash(&[context, &(low as u64).to_le_bytes(), &(high as u64).to_le_bytes()]);
            let mut key = Hash::default();
            pair.key.expand(&info, &mut key).ok()?;
            Some((self.me < pair.place, ChaCha20::new(&key.into(), &[0; 12].into())))
        };
        let streams = self.pairs.iter().map(stream).collect::<Option<_>>()?;
        Some(Pads { streams, bytes: Vec::new() })
    }
}

/// The mask of one reply: a stream per pair, of which the lower site adds and the higher subtracts.
pub struct Pads {
    streams: Vec<(bool, ChaCha20)>,
    bytes: Vec<u8>,
}

impl Pads {
    /// The next numbers of the mask.
    pub fn next(&mut self, count: usize) -> Vec<i128> {
        let mut all = vec![0_i128; count];
        for (adds, stream) in &mut self.streams {
            self.bytes.clear();
            self.bytes.resize(16 * count, 0);
            stream.apply_keystream(&mut self.bytes);
            let numbers = self.bytes.as_chunks().0.iter().map(|bytes| i128::from_le_bytes(*bytes));
            if *adds {
                all.iter_mut().zip(numbers).for_each(|(own, pad)| *own = own.wrapping_add(pad));
            } else {
                all.iter_mut().zip(numbers).for_each(|(own, pad)| *own = own.wrapping_sub(pad));
            }
        }
        all
    }
}
