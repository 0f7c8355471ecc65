//! What a valid policy may do to people who did not mean it.
//!
//! Owns the table of cross-effects: choices that are allowed, and that surprise. It judges a valid
//! policy only and changes nothing; whether a warning stops a deploy is the caller's business. A
//! new field that can surprise gets a row here, beside the rows of the others.

use std::net::Ipv4Addr;

use super::{
    AfterExpiry, AfterWait, Effect, KeepReply, KeyPart, OnMismatch, OnRepeat, Operation, Origin,
    Policy, Principal, Recovery, ScopePart, WhenAbsent, WhileRunning,
};
use crate::core::code::Code;
use crate::core::recovery::{Placeholder, Reconcile};
use crate::core::time::Span;

/// One cross-effect of a policy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Warning<'p> {
    /// Its name: stable, so that people can search for it.
    pub code: &'static str,
    /// The operation; none if it is about the whole policy.
    pub operation: Option<&'p str>,
    /// The field that brings it about.
    pub field: &'static str,
    /// What follows, and what would avoid it.
    pub message: &'static str,
}

/// All cross-effects of a policy, operation by operation.
#[must_use]
pub fn warnings(policy: &Policy) -> Vec<Warning<'_>> {
    let whole = OF_THE_POLICY.iter().filter(|row| (row.applies)(policy));
    let whole = whole.map(|row| row.about(None));
    let each = policy.operations.iter().flat_map(|operation| {
        let rows = OF_AN_OPERATION.iter();
        let rows = rows.filter(|row| (row.applies)(operation));
        rows.map(|row| row.about(Some(&operation.name)))
    });
    whole.chain(each).collect()
}

/// The names of all cross-effects that this version knows.
pub fn codes() -> impl Iterator<Item = &'static str> {
    let whole = OF_THE_POLICY.iter().map(|row| row.code);
    whole.chain(OF_AN_OPERATION.iter().map(|row| row.code))
}

struct Row<T> {
    code: &'static str,
    field: &'static str,
    applies: fn(&T) -> bool,
    message: &'static str,
}

impl<T> Row<T> {
    fn about<'p>(&self, operation: Option<&'p str>) -> Warning<'p> {
        Warning {
            code: self.code,
            operation,
            field: self.field,
            message: self.message,
        }
    }
}

const DAY: Span = Span::seconds(86_400);

const OF_THE_POLICY: [Row<Policy>; 2] = [
    Row {
        code: "origin_in_plain_text",
        field: "origin",
        applies: |policy| plain_text(&policy.origin),
        message: "commands and credentials go to the origin unencrypted: use https",
    },
    Row {
        code: "nothing_protected",
        field: "operations",
        applies: |policy| policy.operations.is_empty(),
        message: "there is no operation: every request passes through without protection",
    },
];

const OF_AN_OPERATION: [Row<Operation>; 18] = [
    Row {
        code: "principal_none",
        field: "principal",
        applies: |operation| operation.principal == Principal::None,
        message: "all callers share one set of keys: whoever uses the key of somebody else gets \
                  that answer or occupies that key; name a principal unless keys are secrets",
    },
    Row {
        code: "credentials_may_change",
        field: "principal",
        applies: |operation| operation.principal == Principal::Authorization { any: true },
        message: "credentials that are signed or renewed between attempts make every retry a \
                  second operation; take authorization:any only if they stay the same",
    },
    Row {
        code: "principal_written_by_others",
        field: "principal",
        applies: |operation| matches!(operation.principal, Principal::Header(_)),
        message: "whoever reaches the gate without what sets this header can be anybody: close \
                  every other way to the gate",
    },
    Row {
        code: "cookie_may_change",
        field: "principal",
        applies: |operation| matches!(operation.principal, Principal::Cookie(_)),
        message: "a session that is renewed between attempts makes every retry a second \
                  operation; take a cookie only if it stays the same",
    },
    Row {
        code: "absent_key_passes",
        field: "when_absent",
        applies: |operation| operation.when_absent == WhenAbsent::Pass,
        message: "a request without a key runs every time it is sent",
    },
    Row {
        code: "replay_on_mismatch",
        field: "on_mismatch",
        applies: |operation| operation.on_mismatch == OnMismatch::Replay,
        message: "another command under a used key gets the answer of the first one and is never \
                  carried out, though its client is told of a success",
    },
    Row {
        code: "content_not_compared",
        field: "on_mismatch",
        applies: |operation| operation.on_mismatch == OnMismatch::Ignore,
        message: "another command under a used key is dropped as a duplicate, and nobody is told",
    },
    Row {
        code: "target_not_compared",
        field: "command.target",
        applies: target_not_compared,
        message: "the path names a resource, but is neither compared nor part of the key or the \
                  scope: one key on two resources is one operation",
    },
    Row {
        code: "reply_not_kept",
        field: "keep.reply",
        applies: |operation| {
            operation.on_repeat == OnRepeat::Replay && operation.keep.reply == KeepReply::None
        },
        message: "there is nothing to replay: a client that lost the first answer gets \
                  reply_unavailable, and no retry brings the answer back",
    },
    Row {
        code: "body_kept_in_plain_text",
        field: "keep.for",
        applies: body_kept_in_plain_text,
        message: "the bodies of answers are stored unencrypted for longer than a day: encrypt \
                  them, or keep less for less long",
    },
    Row {
        code: "key_forgotten_early",
        field: "keep.tombstone",
        applies: |operation| operation.keep.tombstone < DAY,
        message: "the key is forgotten within a day: a retry after that (webhook senders retry \
                  for days) is a second operation",
    },
    Row {
        code: "runs_again_after_expiry",
        field: "after_expiry",
        applies: |operation| {
            operation.after_expiry == AfterExpiry::Execute && operation.effect == AT_MOST_ONCE
        },
        message: "a retry that comes later than keep.for runs the command a second time",
    },
    Row {
        code: "rerun_of_at_most_once",
        field: "recovery.then",
        applies: |operation| {
            operation.recovery == Recovery::Rerun && operation.effect == AT_MOST_ONCE
        },
        message: "the effect must not happen twice, and yet a command whose outcome is unknown \
                  runs again: hold it, or write effect = \"at_least_once\"",
    },
    Row {
        code: "probe_without_reference",
        field: "recovery.probe",
        applies: |operation| asks(operation, |it| !by_reference(it)),
        message: "dangerous: the origin is asked by values that the client chose, which can find \
                  the operation of somebody else and give its receipt away; ask by {reference}",
    },
    Row {
        code: "settled_early",
        field: "recovery.settle_after",
        applies: |operation| asks(operation, |it| it.settle_after < operation.lease),
        message: "\"not applied\" is believed before the lease of the attempt ends: a slow attempt \
                  may still arrive after the next one has started",
    },
    Row {
        code: "failure_assumed",
        field: "retryable",
        applies: |operation| {
            operation.effect == AT_MOST_ONCE && operation.outcomes.retryable.iter().any(doubtful)
        },
        message: "408 and 5xx may be sent after the effect: read as retryable, the command can \
                  take effect twice",
    },
    Row {
        code: "failure_taken_for_final",
        field: "final",
        applies: |operation| operation.outcomes.final_.iter().any(doubtful),
        message: "408 and 5xx may be sent after the effect: read as final, clients are told of a \
                  failure for good though the command may have succeeded",
    },
    Row {
        code: "pending_looks_done",
        field: "statuses",
        applies: pending_looks_done,
        message: "a repeat of an unfinished command gets 202: a client that takes every 2xx for \
                  done stops asking; choose a preset or statuses with 409 unless all clients \
                  know 202",
    },
];

const AT_MOST_ONCE: Effect = Effect::AtMostOnce;

fn plain_text(origin: &Origin) -> bool {
    let Origin::Url(url) = origin else {
        return false;
    };
    let Some(rest) = url.strip_prefix("http://") else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    };
    let loopback = host.parse().is_ok_and(|it: Ipv4Addr| it.is_loopback());
    !loopback && !matches!(host, "localhost" | "[::1]")
}

fn target_not_compared(operation: &Operation) -> bool {
    let named = |name: &str| {
        let key = operation.key.iter();
        let scope = operation.scope.iter().filter_map(|part| match part {
            ScopePart::Value(part) => Some(part),
            ScopePart::Principal => None,
        });
        key.chain(scope)
            .any(|part| matches!(part, KeyPart::Path(known) if known == name))
    };
    let unnamed = |path: &str| {
        path.split(['{', '}'])
            .skip(1)
            .step_by(2)
            .any(|it| !named(it))
    };
    !operation.recipe.target && operation.routes.iter().any(|route| unnamed(route.path()))
}

fn body_kept_in_plain_text(operation: &Operation) -> bool {
    let kept_for = match operation.on_repeat {
        OnRepeat::Replay => operation.keep.for_,
        OnRepeat::Acknowledge | OnRepeat::Refuse => operation.keep.tombstone,
    };
    let keep = &operation.keep;
    keep.reply == KeepReply::Full && !keep.encrypt && kept_for > DAY
}

fn asks(operation: &Operation, matches: impl Fn(&Reconcile) -> bool) -> bool {
    match &operation.recovery {
        Recovery::Reconcile(reconcile) => matches(reconcile),
        Recovery::Hold | Recovery::Rerun => false,
    }
}

fn by_reference(reconcile: &Reconcile) -> bool {
    let mut placeholders = reconcile.probe.placeholders();
    placeholders.any(|it| *it == Placeholder::Reference)
}

fn doubtful(status: &u16) -> bool {
    // 501 and 505 say that the request was not understood.
    matches!(status, 408 | 500 | 502..=504 | 506..=599)
}

fn pending_looks_done(operation: &Operation) -> bool {
    let done = |code| operation.statuses.status(code) == 202;
    let told_while_running = match operation.while_running {
        WhileRunning::Pending
        | WhileRunning::Wait {
            then: AfterWait::Pending,
            ..
        } => true,
        WhileRunning::Conflict
        | WhileRunning::Wait {
            then: AfterWait::Conflict,
            ..
        } => false,
    };
    told_while_running && done(Code::InProgress) || done(Code::OutcomeUnknown)
}
