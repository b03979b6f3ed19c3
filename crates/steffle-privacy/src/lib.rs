//! What a run costs: events in, guarantees out.
