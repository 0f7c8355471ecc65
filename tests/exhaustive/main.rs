//! The state machine, exhaustively: every state x event x policy x time edge.
//!
//! The records come from real sequences of events (`states`), every one of them meets every event
//! (`events`) under every policy (`policies`), also such that it was not born under, just before,
//! at and after each of its own deadlines. What must hold of every single step is in `claims`,
//! `evidence`, `answers` and `duties`; none of it repeats how the core decides.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail, and what it looks for is one event of many"
)]

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod case;
mod claims;
mod duties;
mod events;
mod evidence;
mod policies;
mod states;
mod time;

use case::{Case, Commands};
use events::What;
use oncegate::core::policy::Operation;
use oncegate::core::time::Millis;
use states::Seed;

/// Holds every invariant against one case.
fn check(case: &Case<'_>) {
    let step = case.step();
    claims::check(case, &step);
    evidence::check(case, &step);
    answers::check(case, &step);
    duties::check(case, &step);
}

/// Lets every event of a list happen to every seed under every policy at every time edge.
fn run(
    seeds: &[Seed],
    policies: &[Option<&'static Operation>],
    list: fn(&Seed) -> Vec<What>,
) -> u64 {
    let commands = Commands::new();
    let mut cases = 0;
    for seed in seeds {
        let edges = time::edges(seed);
        let events = list(seed);
        for policy in policies {
            for now in &edges {
                let aged = case::aged(seed.record.as_ref(), *now);
                for what in &events {
                    check(&Case {
                        seed,
                        aged: aged.as_ref(),
                        operation: *policy,
                        what,
                        now: *now,
                        commands: &commands,
                    });
                    cases += 1;
                }
            }
        }
    }
    cases
}

#[test]
fn every_arrival_in_every_state_under_every_policy() {
    let (silent, telling): (Vec<_>, Vec<_>) = states::all()
        .into_iter()
        .partition(|seed| seed.record.as_ref().is_none_or(|it| it.outbox.is_none()));
    let all: Vec<_> = policies::all().into_iter().map(Some).collect();
    // What waits to be told hardly meets the policy: every seventh, which leaves no choice out.
    let some: Vec<_> = all.iter().copied().step_by(7).collect();
    let cases = run(&silent, &all, events::arrivals) + run(&telling, &some, events::arrivals);
    let records = silent.len() + telling.len();
    println!(
        "{records} records x {} policies: {cases} arrivals",
        all.len()
    );
    assert!(cases > 10_000_000, "{cases}");
}

#[test]
fn every_other_event_in_every_state_with_and_without_a_policy() {
    let seeds = states::all();
    let mut policies: Vec<_> = policies::recoveries().into_iter().map(Some).collect();
    policies.push(None);
    let cases = run(&seeds, &policies, events::others);
    println!(
        "{} records x {} policies: {cases} events",
        seeds.len(),
        policies.len()
    );
    assert!(cases > 1_000_000, "{cases}");
}

#[test]
fn a_step_is_a_function_and_its_record_can_be_stored() {
    let seeds = states::all();
    let commands = Commands::new();
    let operation = Some(policies::reconcile());
    for seed in &seeds {
        let mut events = events::others(seed);
        events.extend(events::arrivals(seed));
        for (what, now) in pairs(&events, &time::edges(seed)) {
            let case = Case {
                seed,
                aged: None,
                operation,
                what,
                now,
                commands: &commands,
            };
            let step = case.step();
            assert_eq!(step, case.step(), "{case}");
            let Some(record) = step.record.as_ref().filter(|_| step.save) else {
                continue;
            };
            let read = case::stored_and_read(record);
            assert_eq!(read, *record, "the stored form loses something: {case}");
            assert!(record.journal.len() <= 50, "{case}");
        }
    }
}

/// So that the journal may grow, be cut and be read by people, and may be left out of a model.
#[test]
fn the_journal_decides_nothing() {
    let seeds = states::all();
    let commands = Commands::new();
    let operation = Some(policies::reconcile());
    for seed in &seeds {
        let mut forgetful = seed.clone();
        if let Some(record) = &mut forgetful.record {
            record.journal.clear();
        }
        let events = events::others(seed);
        for (what, now) in pairs(&events, &time::edges(seed)) {
            let case = |seed| Case {
                seed,
                aged: None,
                operation,
                what,
                now,
                commands: &commands,
            };
            let (full, bare) = (case(seed), case(&forgetful).step());
            let (step, state) = (full.step(), bare.record.map(|it| it.state));
            assert_eq!(step.reaction, bare.reaction, "{full}");
            assert_eq!(step.record.map(|it| it.state), state, "{full}");
        }
    }
}

fn pairs<'a>(events: &'a [What], edges: &'a [Millis]) -> impl Iterator<Item = (&'a What, Millis)> {
    edges
        .iter()
        .flat_map(move |now| events.iter().map(move |what| (what, *now)))
}
