//! Who has what, and whether that can be.

use std::collections::{BTreeMap, HashMap, HashSet};

use bergamot_engine::{Order, Ticket};
use bergamot_types::{JobId, MessageId};

/// How often each fault was delivered.
pub type Fired = BTreeMap<&'static str, u64>;

/// Watches the engine's orders. A rule that is broken is told in a sentence.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    asked: HashMap<MessageId, Vec<Ticket>>,
    ids: HashMap<Ticket, MessageId>,
    waiting: HashSet<Ticket>, // decoded, and no order for them yet
    ended: HashSet<JobId>,
}

impl Ledger {
    pub(crate) fn on_order(&mut self, order: &Order) -> Result<(), String> {
        match order {
            Order::Fetch { ticket, id, hedge, .. } => {
                self.ids.insert(*ticket, id.clone());
                let asked = self.asked.entry(id.clone()).or_default();
                let others = asked.len();
                asked.push(*ticket);
                if others == usize::from(*hedge) {
                    return Ok(());
                }
                Err(format!("<{id}> is asked for by {asked:?}, hedge: {hedge}"))
            }
            Order::Write { ticket, .. } | Order::Discard { ticket } => {
                let known = self.waiting.remove(ticket);
                if known { Ok(()) } else { Err(format!("{ticket:?} has no bytes: {order:?}")) }
            }
            Order::FailJob { job, .. } | Order::FinishJob { job, .. } => {
                // A job that could not be moved is finished again.
                let again = matches!(order, Order::FinishJob { .. });
                let first = self.ended.insert(*job);
                if first || again { Ok(()) } else { Err(format!("job {job} ends twice")) }
            }
            _ => Ok(()),
        }
    }

    /// The ticket is no longer asked for; `decoded` if its bytes wait for an order.
    pub(crate) fn on_answer(&mut self, ticket: Ticket, decoded: bool) {
        if let Some(id) = self.ids.remove(&ticket)
            && let Some(asked) = self.asked.get_mut(&id)
        {
            asked.retain(|other| *other != ticket);
            if asked.is_empty() {
                self.asked.remove(&id);
            }
        }
        if decoded {
            self.waiting.insert(ticket);
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.asked.is_empty() && self.waiting.is_empty()
    }
}
