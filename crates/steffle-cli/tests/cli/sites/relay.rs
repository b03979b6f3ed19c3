//! A relay for tests: carries frames between `steffle server` and one `steffle node` per site, as an
//! engine would, and can be told to do it badly.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::ended;
use crate::harness::Place;

pub(crate) struct Relay {
    pub(crate) server: Option<(Child, ChildStdin, ChildStdout)>,
    sites: Vec<Site>,
    /// Exchanges that were carried.
    pub(crate) carried: usize,
}

/// A site's process, and how to start it again.
struct Site {
    command: Command,
    running: Option<(Child, ChildStdin, ChildStdout)>,
}

/// A request of the server: to which node, and its bytes.
pub(crate) type Request = (u32, Vec<u8>);
/// What is given back to it.
pub(crate) type Reply = Result<Vec<u8>, String>;

impl Relay {
    /// Starts the server of a job in `place`, whose run goes to `out`; sites start when asked.
    pub(crate) fn start(place: &Place, out: &str, flags: &[&str]) -> Self {
        submit(place, &place.read("job.toml"));
        Self::over(place, out, flags)
    }

    /// The same for a job that was submitted before.
    pub(crate) fn over(place: &Place, out: &str, flags: &[&str]) -> Self {
        let job = place.read("job.toml");
        let names = job.lines().filter_map(|line| line.strip_prefix("silo = \""));
        let site = |path: &str| {
            let path = path.trim_end_matches('"');
            Site { command: place.command(&["node", "--stdio", "--silo", path]), running: None }
        };
        let sites = names.map(site).collect();
        let server = ["server", "--stdio", "--lead", "lead.toml", "--data", "submitted.toml"];
        let server = place.command(&[&server[..], &["--out", out], flags].concat());
        Self { server: Some(start(server)), sites, carried: 0 }
    }

    /// The next requests of the server; none when it has ended.
    pub(crate) fn next(&mut self) -> Option<Vec<Request>> {
        let (_, _, from) = self.server.as_mut().unwrap();
        let frame = read(from)?;
        let mut rest = &frame[..];
        let count = u32::from_le_bytes(take(&mut rest));
        let requests = (0..count).map(|_| {
            let node = u32::from_le_bytes(take(&mut rest));
            let length = u64::from_le_bytes(take(&mut rest)) as usize;
            let (request, after) = rest.split_at(length);
            rest = after;
            (node, request.to_vec())
        });
        Some(requests.collect())
    }

    /// Gives the server its replies.
    pub(crate) fn give(&mut self, replies: &[Reply]) {
        let mut frame = (replies.len() as u32).to_le_bytes().to_vec();
        for reply in replies {
            let (status, bytes) = match reply {
                Ok(bytes) => (0, &bytes[..]),
                Err(why) => (1, why.as_bytes()),
            };
            frame.push(status);
            frame.extend((bytes.len() as u64).to_le_bytes());
            frame.extend(bytes);
        }
        let (_, to, _) = self.server.as_mut().unwrap();
        // A server that was killed does not read any more.
        let _ =
            to.write_all(&(frame.len() as u64).to_le_bytes()).and_then(|()| to.write_all(&frame));
        let _ = to.flush();
        self.carried += 1;
    }

    /// Carries requests to sites, and letters between them.
    pub(crate) fn ask(&mut self, requests: &[Request]) -> Vec<Reply> {
        self.ask_with(requests, |_| {})
    }

    /// The same; letters are also given back.
    pub(crate) fn exchange(&mut self, requests: &[Request]) -> (Vec<Reply>, Vec<Vec<u8>>) {
        let mut letters = Vec::new();
        let replies = self.ask_with(requests, |letter| letters.push(letter.clone()));
        (replies, letters)
    }

    /// The same with letters that are changed on their way.
    pub(crate) fn ask_with(
        &mut self,
        requests: &[Request],
        mut change: impl FnMut(&mut Vec<u8>),
    ) -> Vec<Reply> {
        let mut replies = Vec::new();
        let mut letters = Vec::new();
        for (node, request) in requests {
            let answer = self.sites[*node as usize - 1].ask(0, request);
            let mut rest = &answer[..];
            let length = u64::from_le_bytes(take(&mut rest)) as usize;
            replies.push(Ok(rest[..length].to_vec()));
            rest = &rest[length..];
            for _ in 0..u32::from_le_bytes(take(&mut rest)) {
                let to = u64::from_le_bytes(take(&mut rest));
                let to: Vec<u32> = (0..to).map(|_| u32::from_le_bytes(take(&mut rest))).collect();
                let length = u64::from_le_bytes(take(&mut rest)) as usize;
                letters.push((*node, to, rest[..length].to_vec()));
                rest = &rest[length..];
            }
        }
        for (from, to, mut letter) in letters {
            change(&mut letter);
            for node in to {
                self.sites[node as usize - 1].ask(from, &letter);
            }
        }
        replies
    }

    /// Hands a site a message of this sender, as a relay would that knows no better; its reply.
    pub(crate) fn hand(&mut self, place: usize, from: u32, message: &[u8]) -> Vec<u8> {
        let answer = self.sites[place].ask(from, message);
        let mut rest = &answer[..];
        let length = u64::from_le_bytes(take(&mut rest)) as usize;
        rest[..length].to_vec()
    }

    /// Carries one exchange; false when the server has ended.
    pub(crate) fn carry(&mut self) -> bool {
        let Some(requests) = self.next() else { return false };
        let replies = self.ask(&requests);
        self.give(&replies);
        true
    }

    /// Carries everything to the end; the server's status and what it said.
    pub(crate) fn carry_all(&mut self) -> (i32, String) {
        while self.carry() {}
        self.end()
    }

    /// Waits for the server to end.
    pub(crate) fn end(&mut self) -> (i32, String) {
        let (child, to, from) = self.server.take().unwrap();
        drop((to, from));
        ended(child, Duration::from_mins(1))
    }

    /// Goes on with another server; the sites stay.
    pub(crate) fn go_on_with(&mut self, mut other: Self) {
        self.server = other.server.take();
        self.carried += 1;
    }

    /// Kills a site's process; the next message starts another.
    pub(crate) fn kill_site(&mut self, place: usize) {
        if let Some((mut child, ..)) = self.sites[place].running.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn kill_server(&mut self) {
        let (mut child, ..) = self.server.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Writes a job as it is submitted, without files of sites, and the file of the server's owner.
pub(super) fn submit(place: &Place, job: &str) {
    let lines = job.lines().filter(|line| !line.starts_with("silo = "));
    let job: Vec<&str> = lines.collect();
    let job = job.join("\n").replace("\"parts/test.csv\"", "\"people\"");
    place.write("submitted.toml", job);
    place.write("lead.toml", "version = 1\n[tests.people]\npath = \"parts/test.csv\"\nsensitive = [\"group\"]\ngroups = true\n");
}

impl Drop for Relay {
    fn drop(&mut self) {
        let sites = self.sites.iter_mut().filter_map(|site| site.running.take());
        for (mut child, ..) in sites.chain(self.server.take()) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Site {
    fn ask(&mut self, from: u32, message: &[u8]) -> Vec<u8> {
        let message = [&from.to_le_bytes()[..], message].concat();
        for _ in 0..3 {
            let command = &mut self.command;
            let (_, to, from) = self.running.get_or_insert_with(|| spawn(command));
            let sent = to.write_all(&(message.len() as u64).to_le_bytes());
            let sent = sent.and_then(|()| to.write_all(&message)).and_then(|()| to.flush());
            if let Some(answer) = sent.ok().and_then(|()| read(from)) {
                return answer;
            }
            let (mut child, ..) = self.running.take().unwrap();
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("a site cannot be started");
    }
}

fn start(mut command: Command) -> (Child, ChildStdin, ChildStdout) {
    command.stderr(Stdio::piped());
    spawn(&mut command)
}

fn spawn(command: &mut Command) -> (Child, ChildStdin, ChildStdout) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    (child, to, from)
}

fn read(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length).ok()?;
    let mut frame = vec![0; u64::from_le_bytes(length) as usize];
    from.read_exact(&mut frame).ok()?;
    Some(frame)
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (head, after) = rest.split_first_chunk().unwrap();
    *rest = after;
    *head
}
