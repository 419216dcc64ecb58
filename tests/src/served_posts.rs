//! [`ServedPosts`]: the posts of a news server, which grow while it runs, with a record of every article served.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bergamot_newsd::{Articles, Generated};

/// Use it for tests that add posts while the server runs, or that check which articles were fetched when, and
/// which of them twice.
#[derive(Debug, Default)]
pub struct ServedPosts {
    state: Mutex<State>,
}

/// One response with an article.
#[derive(Clone, Copy, Debug)]
pub struct ServedArticle {
    pub at: Instant,
    pub post: usize,
    pub file: usize,
    pub part: u32,
    /// On the wire.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct State {
    posts: Vec<Arc<Generated>>,
    numbers: HashMap<String, usize>, // of posts, by what the ids of one have in common
    served: Vec<ServedArticle>,
}

impl ServedPosts {
    /// Adds a post and returns its number.
    pub fn add(&self, post: Generated) -> usize {
        let mut state = self.state();
        let number = state.posts.len();
        state.numbers.insert(common(&post.id(0, 1)).to_owned(), number);
        state.posts.push(Arc::new(post));
        number
    }

    /// The articles served since the last call.
    pub fn take_served(&self) -> Vec<ServedArticle> {
        std::mem::take(&mut self.state().served)
    }

    fn find(&self, id: &str) -> Option<(usize, Arc<Generated>)> {
        let state = self.state();
        let number = *state.numbers.get(common(id))?;
        Some((number, state.posts[number].clone()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Articles for ServedPosts {
    fn contains(&self, id: &str) -> bool {
        self.find(id).is_some_and(|(_, post)| post.contains(id))
    }

    fn append_body(&self, id: &str, out: &mut Vec<u8>) -> bool {
        let Some((post, generated)) = self.find(id) else { return false };
        let before = out.len();
        let is_there = generated.append_body(id, out);
        let mut numbers = id.split('.').map_while(|word| word.parse().ok());
        if let (true, Some(file), Some(part)) = (is_there, numbers.next(), numbers.next()) {
            let (file, bytes) = (file as usize, (out.len() - before) as u64);
            self.state().served.push(ServedArticle { at: Instant::now(), post, file, part, bytes });
        }
        is_there
    }

    fn subject(&self, id: &str) -> Option<String> {
        self.find(id)?.1.subject(id)
    }

    fn another(&self, id: &str) -> Option<String> {
        self.find(id)?.1.another(id)
    }
}

/// The part of an id that all articles of a post share.
fn common(id: &str) -> &str {
    id.splitn(3, '.').nth(2).unwrap_or_default()
}
