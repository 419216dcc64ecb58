//! [`Current`]: a value that may be replaced while other threads use it. Shared by any threads.

use std::sync::{Arc, PoisonError, RwLock};

/// A value that was taken stays as it was; the next `get` returns the new one.
#[derive(Debug)]
pub(crate) struct Current<T>(Arc<RwLock<Arc<T>>>);

impl<T> Current<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(value))))
    }

    pub(crate) fn get(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}

impl<T> Clone for Current<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
