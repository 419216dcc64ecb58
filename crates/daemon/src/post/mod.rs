//! What follows the download of a job: the tasks that the orders of [`Post`](bergamot_post::Post) start. The
//! main loop gives them to the parts that do them (`download/orders.rs`).

pub(crate) mod move_job;
