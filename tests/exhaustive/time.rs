//! The edges of time: just before, at and just after every deadline of a record, and the proof
//! that the deadlines decide and not whether an alarm rang.

use oncegate::core::record::{Record, State};
use oncegate::core::time::Millis;

use crate::case;
use crate::states::{self, Seed};

/// Every deadline that a record holds.
pub(crate) fn deadlines(record: &Record) -> Vec<Millis> {
    let mut deadlines = match &record.state {
        State::Completed(settled) | State::FailedReplayable(settled) => {
            vec![settled.reply_until, settled.forget_at]
        }
        State::Expired { forget_at, .. } | State::FailedRetryable { forget_at } => {
            vec![*forget_at]
        }
        State::InProgress {
            lease_until,
            answer_until,
            ..
        } => vec![*lease_until, *answer_until],
        State::Unknown { lease_until, .. } => vec![*lease_until],
    };
    deadlines.extend(record.plan.and_then(|plan| plan.next));
    deadlines.extend(record.plan.map(|plan| plan.escalate_at));
    deadlines.extend(record.outbox.as_ref().and_then(|outbox| outbox.due));
    deadlines
}

/// The times at which a seed is looked at.
pub(crate) fn edges(seed: &Seed) -> Vec<Millis> {
    let mut edges = vec![seed.now];
    for Millis(deadline) in seed.record.iter().flat_map(deadlines) {
        edges.extend([deadline - 1, deadline, deadline + 1].map(Millis));
    }
    // Long after everything, too.
    edges.push(Millis(seed.now.0 + 100 * 24 * 3_600_000));
    edges.retain(|edge| *edge >= seed.now);
    edges.sort();
    edges.dedup();
    edges
}

fn name(record: Option<&Record>) -> &'static str {
    record.map_or("none", |record| record.state.name())
}

#[test]
fn a_state_ends_at_its_very_time_and_not_before() {
    for seed in states::all() {
        let Some(record) = &seed.record else { continue };
        let Some(end) = record.state.ends_at().filter(|end| *end > seed.now) else {
            continue;
        };
        let before = case::aged(Some(record), Millis(end.0 - 1)).unwrap();
        assert_eq!(before.state, record.state, "{}", seed.name);
        let at = case::aged(Some(record), end);
        let same = at.as_ref().map(|it| &it.state) == Some(&record.state);
        let kept_for_its_news = record.has_news() && at.is_some_and(|it| it.forgotten(end));
        assert!(!same || kept_for_its_news, "{} goes on", seed.name);
    }
}

/// Looking at every deadline must come to the same as looking once at the end. Only what a lease
/// left behind counts from when it was found, so that it may be remembered longer, never shorter.
#[test]
fn the_times_of_a_record_decide_and_not_its_alarms() {
    for seed in states::all() {
        let edges = edges(&seed);
        let in_progress = matches!(
            seed.record.as_ref().map(|record| &record.state),
            Some(State::InProgress { .. })
        );
        for (n, end) in edges.iter().enumerate() {
            let direct = case::aged(seed.record.as_ref(), *end);
            let mut watched = seed.record.clone();
            for now in &edges[..=n] {
                watched = case::aged(watched.as_ref(), *now);
            }
            let (direct, watched) = (direct.as_ref(), watched.as_ref());
            if in_progress {
                let shorter = direct.is_none() && watched.is_some();
                assert!(!shorter, "{} is forgotten too early", seed.name);
                let unknown = [direct, watched].map(|it| name(it) == "unknown");
                assert_eq!(unknown[0], unknown[1], "{}", seed.name);
            } else {
                assert_eq!(
                    direct.map(|it| &it.state),
                    watched.map(|it| &it.state),
                    "{}",
                    seed.name
                );
            }
        }
    }
}

#[test]
fn no_passing_of_time_makes_an_unknown_outcome_anything_else() {
    for seed in states::all() {
        if name(seed.record.as_ref()) != "unknown" {
            continue;
        }
        for years in [1, 10, 100] {
            let now = Millis(seed.now.0 + years * 365 * 24 * 3_600_000);
            let aged = case::aged(seed.record.as_ref(), now);
            assert_eq!(name(aged.as_ref()), "unknown", "{}", seed.name);
        }
    }
}
