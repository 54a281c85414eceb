use cts_testkit::ReleaseKey;

use super::*;

fn fingerprints(keys: &ReleaseKeys) -> Vec<String> {
    let keys = keys.0.iter();
    keys.map(|key| key.primary_key.fingerprint().to_string().to_uppercase())
        .collect()
}

#[test]
fn the_keys_of_the_vendors_are_those_that_the_vendors_name() {
    let terraform = ReleaseKeys::of_vendor(EngineKind::Terraform).unwrap();
    let expected = "C874011F0AB405110D02105534365D9472D7468F";
    assert_eq!(fingerprints(&terraform), [expected]);
    assert_eq!(terraform.short_ids().collect::<Vec<_>>(), ["72D7468F"]);
    let [key] = &terraform.0[..] else { panic!() };
    let subkeys: Vec<_> = subkeys(key)
        .map(|(subkey, _)| subkey.key.fingerprint().to_string().to_uppercase())
        .collect();
    assert!(
        subkeys.contains(&"374EC75B485913604A831CC7C820C6D5CD27AB87".into()),
        "{subkeys:?}"
    );

    let tofu = ReleaseKeys::of_vendor(EngineKind::OpenTofu).unwrap();
    let expected = "E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80";
    assert_eq!(fingerprints(&tofu), [expected]);
    let [key] = &tofu.0[..] else { panic!() };
    assert!(primary(key).is_some());
}

#[test]
fn a_signature_counts_for_its_bytes_and_its_key_alone() {
    let (key, other) = (ReleaseKey::generate(), ReleaseKey::with_subkey());
    let read = |key: &ReleaseKey| ReleaseKeys::read(key.public().as_bytes()).unwrap();
    let both = read(&key).and(read(&other));
    for signer in [&key, &other] {
        let signature = signer.sign(b"content");
        both.verify(b"content", &signature).unwrap();
        both.verify(b"content", signer.sign_armored(b"content").as_bytes())
            .unwrap();
        let error = both.verify(b"other content", &signature).unwrap_err();
        assert!(matches!(error, KeyError::Mismatch { keys: 2 }), "{error:?}");
    }
    assert!(
        read(&key)
            .verify(b"content", &other.sign(b"content"))
            .is_err()
    );
    assert!(both.verify(b"content", b"").is_err());
}
