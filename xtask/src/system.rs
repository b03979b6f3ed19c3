//! The system at hand: how it installs things, and whether we may.

use std::path::Path;

/// What a system is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A component of the Rust toolchain.
    Component(&'static str),
    /// A browser.
    Chromium,
    /// Python with environments.
    Python,
    /// What lists sockets: `ss`.
    Sockets,
}

/// A package manager, what it is told, and what it calls a browser, Python and `ss`.
struct Packages {
    tool: &'static str,
    install: &'static str,
    chromium: &'static str,
    python: &'static str,
    sockets: &'static str,
}

const KNOWN: [Packages; 6] = [
    Packages {
        tool: "apt-get",
        install: "apt-get update && apt-get install --yes --no-install-recommends",
        chromium: "chromium",
        python: "python3 python3-venv",
        sockets: "iproute2",
    },
    Packages {
        tool: "dnf",
        install: "dnf install --assumeyes",
        chromium: "chromium",
        python: "python3",
        sockets: "iproute",
    },
    Packages {
        tool: "pacman",
        install: "pacman -S --noconfirm",
        chromium: "chromium",
        python: "python",
        sockets: "iproute2",
    },
    Packages {
        tool: "zypper",
        install: "zypper --non-interactive install",
        chromium: "chromium",
        python: "python3",
        sockets: "iproute2",
    },
    Packages {
        tool: "apk",
        install: "apk add",
        chromium: "chromium",
        python: "python3",
        sockets: "iproute2",
    },
    Packages {
        tool: "brew",
        install: "brew install --cask",
        chromium: "chromium",
        python: "python",
        sockets: "iproute2mac",
    },
];

/// The system at hand.
pub(crate) struct System {
    name: String,
    packages: Option<&'static Packages>,
    root: bool,
}

impl System {
    /// Looks at the files that tell.
    pub(crate) fn here() -> Self {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        let name = name.map_or(std::env::consts::OS, |name| name.trim_matches('"')).to_owned();
        let packages = KNOWN.iter().find(|packages| on_path(packages.tool));
        Self { name, packages, root: is_root() }
    }

    /// What it calls itself.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the check installs by itself: as root, from Debian's or Ubuntu's packages.
    pub(crate) fn may_install(&self) -> bool {
        self.root && self.packages.is_some_and(|packages| packages.tool == "apt-get")
    }

    /// The commands that get all of this, one line each.
    pub(crate) fn commands(&self, wanted: &[Wanted]) -> Vec<String> {
        let mut commands = Vec::new();
        let components: Vec<&str> = wanted
            .iter()
            .filter_map(|wanted| match wanted {
                Wanted::Component(name) => Some(*name),
                Wanted::Chromium | Wanted::Python | Wanted::Sockets => None,
            })
            .collect();
        if !components.is_empty() {
            commands.push(format!("rustup component add {}", components.join(" ")));
        }
        if wanted.contains(&Wanted::Chromium) {
            let other = "install Chromium or Chrome, then: export CHROMIUM=/path/to/it";
            commands.push(self.install(|packages| packages.chromium, other));
        }
        if wanted.contains(&Wanted::Python) {
            let other = "install Python 3.10 or newer with venv";
            commands.push(self.install(|packages| packages.python, other));
        }
        if wanted.contains(&Wanted::Sockets) {
            let other = "install iproute2, which has the program ss";
            commands.push(self.install(|packages| packages.sockets, other));
        }
        commands
    }

    /// The command that installs something; `other` is what to do where no package manager is known.
    fn install(&self, what: impl Fn(&Packages) -> &'static str, other: &str) -> String {
        let Some(packages) = self.packages else { return other.to_owned() };
        let command = format!("{} {}", packages.install, what(packages));
        if self.root || packages.tool == "brew" {
            command
        } else {
            format!("sudo sh -c '{command}'")
        }
    }
}

fn on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/sbin", "/sbin"].map(|folder| Path::new(folder).to_owned());
    std::env::split_paths(&path).chain(usual).any(|folder| folder.join(tool).is_file())
}

/// Root's processes belong to user 0; without `/proc` nothing is installed unasked.
fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    effective.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}
