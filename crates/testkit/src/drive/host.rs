//! [`Host`]: what is above the engine, and observers of everything that is told and ordered.
//! Single-threaded.

use bergamot_engine::{Census, Engine, ErrandId, Event, Failure, Notice, Now, Order};
use bergamot_types::{JobId, ServerId};

use super::Context;
use crate::violation::Checked;

/// The owner of the jobs; the methods that begin with `on_` only observe.
pub trait Host {
    fn job_failed(&mut self, cx: &mut Context<'_>, job: JobId, _failure: Failure) {
        cx.answer(Event::JobRemoved(job));
    }

    fn delete_files(&mut self, _: &mut Context<'_>, _: JobId) {}
    fn notice(&mut self, _: &mut Context<'_>, _: Notice) {}
    fn probed(&mut self, _: &mut Context<'_>, _: JobId, _: Census) {}
    fn start_errand(&mut self, _: &mut Context<'_>, _: ErrandId, _: ServerId) {}
    fn recall_errand(&mut self, _: &mut Context<'_>, _: ErrandId) {}

    /// Before the engine is told of the event.
    fn on_event(&mut self, _: Now, _: &Event) -> Checked {
        Ok(())
    }

    /// The engine was told, and its orders were not polled yet.
    fn on_handled(&mut self, _: &Engine) -> Checked {
        Ok(())
    }

    /// Before the order is carried out.
    fn on_order(&mut self, _: Now, _: &Order) -> Checked {
        Ok(())
    }

    /// There are no more orders.
    fn on_polled(&mut self, _: Now, _: &Engine) -> Checked {
        Ok(())
    }
}

/// Removes jobs that fail, and ignores the rest.
impl Host for () {}
