//! Requests that wait for the attempt of another.
//!
//! Owns the list of them in the object's memory. They are an extension of it and decide nothing:
//! whoever is woken looks at the stored record again, and a restart that forgets them only makes
//! their clients ask again.

use std::cell::RefCell;
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use worker::Delay;

use crate::core::identity::Nonce;
use crate::core::time::{Millis, Span};

/// Everybody who waits in this object.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    waiting: RefCell<Vec<(Nonce, oneshot::Sender<()>)>>,
}

/// A place among the waiters, taken in the same stretch of code as the decision to wait.
#[derive(Debug)]
pub(super) struct Place(oneshot::Receiver<()>);

impl Waiters {
    /// Takes a place to wait for a record to change, by its life.
    pub(super) fn take_place(&self, nonce: Nonce) -> Place {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.waiting.borrow_mut();
        // Whoever gave up has dropped the receiving end.
        waiting.retain(|(_, sender)| !sender.is_canceled());
        waiting.push((nonce, sender));
        Place(receiver)
    }

    /// Wakes those who wait for a record: it has changed. Where the record is gone, all.
    pub(super) fn wake(&self, nonce: Option<Nonce>) {
        let (woken, staying) = self
            .waiting
            .take()
            .into_iter()
            .partition(|(waiting, _)| nonce.is_none_or(|nonce| nonce == *waiting));
        *self.waiting.borrow_mut() = staying;
        let woken: Vec<(Nonce, oneshot::Sender<()>)> = woken;
        for (_, sender) in woken {
            // A waiter that is gone needs no waking.
            let _gone = sender.send(());
        }
    }
}

impl Place {
    /// Waits for the record to change; false if the time was over first.
    pub(super) async fn wait(self, until: Millis, now: Millis) -> bool {
        matches!(within(until.left(now), self.0).await, Some(Ok(())))
    }
}

/// A future's result, if it comes in time.
pub(super) async fn within<F: Future + Unpin>(span: Span, future: F) -> Option<F::Output> {
    match select(future, delay(span)).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(((), _)) => None,
    }
}

/// A timer, at most as long as the runtime can set one.
pub(super) fn delay(span: Span) -> Delay {
    const LONGEST: u64 = 1 << 30;
    Delay::from(Duration::from_millis(span.0.min(LONGEST)))
}
