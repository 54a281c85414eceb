//! A method of the store as one transaction.

/// One transaction: the work in it, then the commit. With a leader's epoch its fence is checked first.
macro_rules! transaction {
    ($store:ident . $begin:ident, $transaction:ident, $now:pat_param => $work:expr) => {{
        let mut $transaction = $store.$begin().await?;
        let $now = $store.now();
        let done = $work.await?;
        $transaction.commit().await?;
        Ok(done)
    }};
    ($store:ident . $begin:ident; $leader:ident, $transaction:ident, $now:pat_param => $work:expr) => {{
        let mut $transaction = $store.$begin().await?;
        let now = $store.now();
        leadership::check(&mut $transaction, $leader, now).await?;
        let $now = now;
        let done = $work.await?;
        $transaction.commit().await?;
        Ok(done)
    }};
}

pub(super) use transaction;
