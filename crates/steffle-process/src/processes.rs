//! The transport: one child process per node.

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use steffle_wire::{Answer, Letter, Lost, NodeId, Reader, Transport, decode};

use crate::frame;

/// How long to wait, and for how much.
///
/// A node that takes longer, or sends more, is given up by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a reply.
    pub reply: Duration,
    /// The most bytes of a frame.
    pub bytes: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { reply: Duration::from_mins(10), bytes: frame::MOST }
    }
}

/// How often a child that ended, or did not reply in time, is started again for one message.
const AGAIN: u32 = 2;

/// How long a child may take to end by itself once nobody asks it any more.
const FAREWELL: Duration = Duration::from_secs(2);

/// Child processes, in the order of the roster.
///
/// A `Transport` whose nodes are programs on this machine, reached by frames on their standard
/// input and output. One that ends, or does not reply in time, is started again and gets the same
/// message again; what it needs to know of the messages before is in its own record.
pub struct Processes {
    children: Vec<Party>,
    patience: Patience,
}

/// A child and the two threads that move bytes, so that one that does not read or write holds up
/// nobody.
struct Party {
    command: Command,
    child: Child,
    /// Closed when the child is to end.
    requests: Option<Sender<Vec<u8>>>,
    answers: Receiver<Result<Vec<u8>, String>>,
}

impl Processes {
    /// Starts one process per command, with pipes for what it reads and writes.
    pub fn start(
        commands: impl IntoIterator<Item = Command>,
        patience: Patience,
    ) -> io::Result<Self> {
        let mut started = Self { children: Vec::new(), patience };
        for command in commands {
            // What was started before is ended when one cannot be.
            started.children.push(Party::start(command, patience.bytes)?);
        }
        Ok(started)
    }

    /// Process ids.
    pub fn ids(&self) -> Vec<u32> {
        self.children.iter().map(|party| party.child.id()).collect()
    }

    fn send(&mut self, place: usize, (from, message): Sent<'_>) -> Result<(), String> {
        let party = self.children.get_mut(place).ok_or("no such node")?;
        let sent = party.requests.as_ref().map(|to| to.send(frame::to_node(from, message)));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(party.ended()) }
    }

    fn receive(&mut self, place: usize, until: Instant) -> Result<Answer, String> {
        let patience = self.patience.reply;
        let party = self.children.get_mut(place).ok_or("no such node")?;
        let rest = until.saturating_duration_since(Instant::now());
        let bytes = match party.answers.recv_timeout(rest) {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(why)) => return Err(format!("{why}; {}", party.ended())),
            Err(RecvTimeoutError::Disconnected) => return Err(party.ended()),
            Err(RecvTimeoutError::Timeout) => {
                party.kill();
                return Err(format!("no reply within {} seconds", patience.as_secs_f64()));
            }
        };
        decode(Reader::new(&bytes)).map_err(|error| {
            party.kill();
            format!("its answer cannot be read: {error}")
        })
    }

    /// The answer to a message that was sent, or why there is none. A child that is lost is started
    /// again and asked again.
    fn answer(
        &mut self,
        place: usize,
        message: Sent<'_>,
        sent: Result<(), String>,
        until: Instant,
    ) -> Result<Answer, String> {
        let mut answer = sent.and_then(|()| self.receive(place, until));
        for _ in 0..AGAIN {
            if answer.is_ok() || place >= self.children.len() {
                break;
            }
            self.children[place].restart(self.patience.bytes)?;
            let until = Instant::now() + self.patience.reply;
            answer = self.send(place, message).and_then(|()| self.receive(place, until));
        }
        answer
    }

    fn deliver(&mut self, from: NodeId, Letter { to, bytes }: &Letter) -> Result<(), Lost> {
        let letter = (from, &bytes[..]);
        let sent: Vec<_> = to.iter().map(|&node| self.send(place(node), letter)).collect();
        let until = Instant::now() + self.patience.reply;
        for (&node, sent) in to.iter().zip(sent) {
            let taken = self.answer(place(node), letter, sent, until);
            taken.map_err(|why| Lost { node, why })?;
        }
        Ok(())
    }
}

impl Transport for Processes {
    fn nodes(&self) -> usize {
        self.children.len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let sent: Vec<Result<(), String>> =
            requests.iter().map(|&(node, bytes)| self.send(place(node), asked(bytes))).collect();
        let until = Instant::now() + self.patience.reply;
        let (mut replies, mut letters) = (Vec::with_capacity(requests.len()), Vec::new());
        for (&(node, request), sent) in requests.iter().zip(sent) {
            let answer = self.answer(place(node), asked(request), sent, until);
            replies.push(answer.map_err(|why| Lost { node, why }).map(|answer| {
                letters.extend(answer.letters.into_iter().map(|letter| (node, letter)));
                answer.reply
            }));
        }
        if replies.iter().all(Result::is_ok) {
            for (from, letter) in &letters {
                if let Err(lost) = self.deliver(*from, letter) {
                    return vec![Err(lost); requests.len()];
                }
            }
        }
        replies
    }
}

/// A message, and who sends it.
type Sent<'a> = (NodeId, &'a [u8]);

fn asked(request: &[u8]) -> Sent<'_> {
    (NodeId::SERVER, request)
}

/// Node 0 is the server, which nobody can ask.
fn place(node: NodeId) -> usize {
    (node.0 as usize).wrapping_sub(1)
}

impl Party {
    fn start(mut command: Command, most: u64) -> io::Result<Self> {
        let (child, requests, answers) = spawn(&mut command, most)?;
        Ok(Self { command, child, requests, answers })
    }

    /// Ends the child, where it has not ended, and starts it again.
    fn restart(&mut self, most: u64) -> Result<(), String> {
        self.kill();
        let started = spawn(&mut self.command, most);
        (self.child, self.requests, self.answers) =
            started.map_err(|error| format!("it cannot be started again: {error}"))?;
        Ok(())
    }

    /// How the process ended; ends it where it has not.
    fn ended(&mut self) -> String {
        self.requests = None;
        if let Some(status) = self.farewell() {
            return format!("its process ended ({status})");
        }
        self.kill();
        "its process closed its output and was ended".to_owned()
    }

    /// Waits a moment for the child to end by itself.
    fn farewell(&mut self) -> Option<std::process::ExitStatus> {
        let until = Instant::now() + FAREWELL;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    fn kill(&mut self) {
        self.requests = None;
        // A process that has ended already needs neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child, and the threads that move its bytes.
type Spawned = (Child, Option<Sender<Vec<u8>>>, Receiver<Result<Vec<u8>, String>>);

fn spawn(command: &mut Command, most: u64) -> io::Result<Spawned> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (mut input, mut output) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
    let (requests, to_write) = channel::<Vec<u8>>();
    // A child that talks without being asked waits here, and takes no more memory than this.
    let (read, answers) = sync_channel(1);
    let unwritten = read.clone();
    thread::spawn(move || {
        for message in to_write {
            if let Err(error) = frame::write(&mut input, &message, most) {
                // One that has ended does not read either; what it said last tells more.
                thread::sleep(FAREWELL);
                let _ = unwritten.send(Err(format!("it does not read: {error}")));
                return;
            }
        }
    });
    thread::spawn(move || {
        loop {
            let (next, more) = match frame::read(&mut output, most) {
                Ok(Some(answer)) => (Ok(answer), true),
                // Said, because the writing thread may live on and keep the channel open.
                Ok(None) => (Err("it said no more".to_owned()), false),
                Err(error) => (Err(error.to_string()), false),
            };
            if read.send(next).is_err() || !more {
                return;
            }
        }
    });
    Ok((child, Some(requests), answers))
}

impl Drop for Party {
    fn drop(&mut self) {
        self.requests = None;
        if self.farewell().is_none() {
            self.kill();
        }
    }
}
