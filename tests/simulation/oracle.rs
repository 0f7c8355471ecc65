//! What must be true of a run, by the ledger, by what clients were told, and by what the sink got.

use std::collections::BTreeMap;

use oncegate::core::identity::Nonce;
use oncegate::core::outbox::Notice;
use oncegate::core::record::{Record, State};
use oncegate::core::reply::{Body, Reply};

use crate::origin::Origin;

/// What is known of one life.
#[derive(Default)]
struct Life {
    /// Attempts that a policy ran although an earlier one was unknown.
    reruns: usize,
    attempts: u32,
    /// The success that was told, which is never another one.
    success: Option<Vec<u8>>,
    /// Failures that were told as final, by their bodies.
    failures: Vec<Vec<u8>>,
    /// Notices that were made, and the last that the sink took.
    made: u32,
    taken: u32,
}

#[derive(Default)]
pub(crate) struct Oracle {
    lives: BTreeMap<u64, Life>,
}

impl Oracle {
    fn life(&mut self, nonce: Nonce) -> &mut Life {
        self.lives.entry(nonce.0).or_default()
    }

    /// A record has become another.
    pub(crate) fn stored(&mut self, before: Option<&Record>, after: Option<&Record>, reruns: bool) {
        if let Some(outbox) = before
            .filter(|_| after.is_none())
            .and_then(|it| it.outbox.as_ref())
        {
            for notice in &outbox.waiting {
                let taken = self.life(notice.nonce).taken;
                assert!(notice.number <= taken, "emptied with news: {notice:?}");
            }
        }
        let Some(after) = after else { return };
        let life = self.life(after.nonce);
        let again = after.attempt > life.attempts && life.attempts > 0;
        if again && after.unresolved {
            let known = before.is_some_and(|it| it.unresolved);
            assert!(
                known || reruns,
                "run again without the policy's word: {after:#?}"
            );
            life.reruns += 1;
        }
        assert!(after.attempt >= life.attempts, "an attempt is forgotten");
        life.attempts = after.attempt;
        if let Some(outbox) = &after.outbox {
            assert!(outbox.made >= life.made, "a notice is made twice");
            life.made = outbox.made;
            // What the life before has told in its very end comes with the next one.
            for notice in &outbox.waiting {
                let life = self.life(notice.nonce);
                life.made = life.made.max(notice.number);
            }
        }
        if let (Some(State::Completed(old)), State::Completed(new)) = (
            before
                .filter(|it| it.nonce == after.nonce)
                .map(|it| &it.state),
            &after.state,
        ) {
            let filled = old.reply.body == Body::Lost;
            assert!(filled || old.reply == new.reply, "a receipt has changed");
        }
    }

    /// Somebody was told an outcome.
    pub(crate) fn told(&mut self, nonce: Nonce, reply: &Reply, other: bool, origin: &Origin) {
        let Body::Whole(body) = &reply.body else {
            panic!("told without its body");
        };
        let life = self.life(nonce);
        if reply.status >= 300 {
            life.failures.push(body.to_vec());
            return;
        }
        let known = life.success.get_or_insert_with(|| body.to_vec());
        assert_eq!(known, &**body, "two different receipts");
        let mut effects = origin.ledger.iter().filter(|(it, _)| it.nonce == nonce);
        let effect = effects.next();
        assert!(effect.is_some(), "a success was told that has not happened");
        assert_eq!(
            effect.map(|(_, of)| *of),
            Some(other),
            "told to somebody else"
        );
    }

    /// The sink has taken notices.
    pub(crate) fn delivered(&mut self, notices: &[Notice]) {
        for notice in notices {
            let life = self.life(notice.nonce);
            assert!(notice.number <= life.taken + 1, "a notice is left out");
            life.taken = life.taken.max(notice.number);
        }
    }

    /// In the end, everything is told, and nothing happened more often than it may.
    pub(crate) fn at_rest(&self, origin: &Origin) {
        for (nonce, life) in &self.lives {
            let effects: Vec<_> = origin
                .ledger
                .iter()
                .filter(|(fence, _)| fence.nonce.0 == *nonce)
                .collect();
            assert!(
                effects.len() <= 1 + life.reruns,
                "{} effects, {} reruns: {effects:?}",
                effects.len(),
                life.reruns
            );
            assert_eq!(life.taken, life.made, "not everything was told outside");
            for (fence, _) in &effects {
                let denied = format!("422 of {}.{}", nonce, fence.attempt).into_bytes();
                assert!(!life.failures.contains(&denied), "denied, and it happened");
            }
            let commands: Vec<bool> = effects.iter().map(|(_, other)| *other).collect();
            assert!(commands.windows(2).all(|it| it[0] == it[1]), "two commands");
        }
    }
}
