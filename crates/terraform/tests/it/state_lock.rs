use crate::fixture::{Sandbox, TAKES_LONG, wait_for};

#[tokio::test]
async fn a_locked_state_is_reported_with_the_command_that_releases_it() {
    let mut sandbox = Sandbox::new(TAKES_LONG).await;
    let shared = sandbox.path().join("states").to_str().unwrap().to_owned();
    sandbox.keep_state_in(&shared);
    let root = sandbox.write(Vec::new());
    let (holder, mut lines) = sandbox.attempt();
    sandbox.terraform.prepare(&holder, &root).await.unwrap();

    // This task on another worker.
    sandbox.definition.working_dir = "another/edge".into();
    let (attempt, _lines) = sandbox.prepared(Vec::new()).await;
    let other = async {
        wait_for(&mut lines, "(local-exec): started").await;
        let error = sandbox.terraform.apply(&attempt).await.unwrap_err();
        holder.stop.cancel();
        error.to_string()
    };
    let (held, text) = tokio::join!(sandbox.terraform.apply(&holder), other);
    assert!(held.unwrap_err().is_interrupted());
    let advice = text.rsplit_once("The state is locked by ").unwrap().1;
    assert!(advice.contains("(OperationTypeApply)"), "{text}");
    let directory = sandbox.directory();
    let end = format!("` in {} releases the lock.", directory.path().display());
    let (before, _) = advice.split_once(&end).unwrap();
    let id = before.rsplit_once("`terraform force-unlock ").unwrap().1;
    assert!(text.contains(&format!("ID:        {id}\n")), "{text}");
}
