//! What a promise covers depends on the mechanism: an attribute or a record, and who is trusted.

use serde::Serialize;

/// What a promise covers, against whom, and what it leaves open.
///
/// It is said beside every epsilon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Scope {
    /// What a promise covers.
    pub protected: &'static str,
    /// Against whom.
    pub from_whom: &'static str,
    /// What it does not cover.
    pub not_protected: &'static [&'static str],
    /// What an attacker guesses at.
    #[serde(skip)]
    pub(super) secret: &'static str,
}

impl Scope {
    /// The sensitive attribute, in silos that are trusted with their own.
    pub const ATTRIBUTE: Self = Self {
        protected: ATTRIBUTE,
        from_whom: "The coordinating server, the other silos, and anyone who gets hold of the \
                    messages, the model or the reports, even if the server chooses its questions \
                    to find out, and even if the attribute of everybody else is known. Not the \
                    department of the own silo that keeps the attribute.",
        not_protected: &[
            EXACT_SUMS,
            PREDICTABLE,
            "Facts about groups, such as how many people in all have the attribute.",
            TWO_SILOS,
            SEVERAL_ROWS,
        ],
        secret: "one person's attribute",
    };

    /// The sensitive attribute, randomised before anybody but its keeper sees it.
    pub const ANSWERS: Self = Self {
        from_whom: "Everybody who sees the answers: the coordinating server, the other silos, the \
                    department of the own silo that keeps the records, and anyone who gets hold of \
                    the messages, the model or the reports, even if the attribute of everybody \
                    else is known. Nobody is trusted but the keeper of the attribute itself.",
        ..Self::ATTRIBUTE
    };

    /// The sensitive attribute, with a curator who has all data.
    pub const CURATOR: Self = Self {
        protected: "The sensitive attribute of each person, given everything else about everybody. \
                    All that the curator ever publishes would look nearly the same had that one \
                    attribute been another; epsilon says how nearly.",
        from_whom: "Everyone but the curator, who has all data and must be trusted with it: anyone \
                    who gets hold of the model, of the steps of its training or of the reports, \
                    even if the attribute of everybody else is known.",
        not_protected: &[
            "Anything from the curator: all records and attributes are in one place, as they are.",
            "Features and labels (x and y): training publishes exact sums of them, which can \
             reveal records.",
            PREDICTABLE,
            "Facts about groups, such as how many people in all have the attribute.",
            SEVERAL_ROWS,
        ],
        ..Self::ATTRIBUTE
    };

    /// Whole records, in silos that are trusted with their own.
    pub const RECORD: Self = Self {
        protected: "Each whole record, features and label. All that is ever sent in training would \
                    look nearly the same with a blank in place of that one record; epsilon says \
                    how nearly.",
        from_whom: "The coordinating server, the other silos, and anyone who gets hold of the \
                    messages or the model, even if all other records are known. Not the own silo, \
                    which has the record.",
        not_protected: &[
            "What is sent beside training: record counts, scaling, levels and the unconstrained \
             model that runs are compared with are exact.",
            "What can be predicted: a pattern learned from the others applies to you too, whether \
             or not you take part.",
            "Facts about groups, such as the mean of a feature or the share of a label.",
            TWO_SILOS,
            "Several records of one person: each is protected by itself.",
        ],
        secret: "the presence of one record",
    };
}

const ATTRIBUTE: &str = "The sensitive attribute of each person, given everything else about \
everybody. All that is ever sent about the people whose attributes an organisation holds would \
look nearly the same had that one attribute been another; epsilon says how nearly.";

const EXACT_SUMS: &str =
    "Features and labels (x and y): their exact sums leave the silo and can reveal records.";

const PREDICTABLE: &str = "What can be predicted from x and y: a pattern learned from the others \
applies to you too, whether or not you take part.";

const TWO_SILOS: &str = "Being in two silos: each has its own epsilon, and both count.";

const SEVERAL_ROWS: &str = "Several rows of one person, unless the schema's unit names the person.";
