#!/bin/sh
# Creates the certificates and revocation lists that the tests of x509 read; run it in this folder. They are valid from 2026 to 2096,
# and the tests pass a fixed time.
set -e
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
sign() { # NAME ISSUER EXTENSIONS [DN]
    key "$1"
    openssl req -new -key "$1.key" -subj "${4:-/CN=$1}" -out "$1.csr"
    printf '%b' "$3" > "$1.ext"
    if [ "$2" = self ]; then by="-signkey $1.key"; else by="-CA $2.pem -CAkey $2.key -set_serial 0x$(printf '%s' "$1" | od -An -tx1 | tr -d ' \n' | cut -c1-16)"; fi
    # shellcheck disable=SC2086
    if [ -n "$3" ]; then openssl x509 -req -in "$1.csr" $by -days 25567 -extfile "$1.ext" -out "$1.pem"
    else openssl x509 -req -in "$1.csr" $by -days 25567 -out "$1.pem"; fi
}
ca='basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n'
sign root self "$ca"
sign middle root "$ca"
sign shallow root 'basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\n'
sign deep shallow "$ca"
sign leaf middle 'extendedKeyUsage=clientAuth\nsubjectAltName=DNS:leaf.test,DNS:*.leaf.test,IP:127.0.0.1\n' '/C=DE/O=Example, Inc./CN=leaf'
sign server root 'extendedKeyUsage=serverAuth\nsubjectAltName=DNS:server.test\n'
sign old root ''
sign lone self ''
sign pinned self 'basicConstraints=critical,CA:TRUE\nsubjectAltName=DNS:pinned.test\n'
sign underdeep deep 'extendedKeyUsage=clientAuth\n'
sign usurper leaf 'extendedKeyUsage=clientAuth\n'
sign strange root '1.2.3.4=critical,DER:0500\n'
sign narrow root "${ca}nameConstraints=critical,permitted;DNS:in.test,excluded;DNS:not.in.test\n"
sign inside narrow 'subjectAltName=DNS:a.in.test\n'
sign outside narrow 'subjectAltName=DNS:a.out.test\n'
sign excluded narrow 'subjectAltName=DNS:not.in.test\n'
sign post self "${ca}nameConstraints=critical,permitted;email:in.test\n"
sign letter post '' '/CN=letter/emailAddress=a@out.test'
sign card post '' '/CN=card'
list() { # NAME ISSUER [REVOKED…]
    name=$1 issuer=$2; shift 2
    printf '[ca]\ndefault_ca=c\n[c]\ndatabase=%s.index\ndefault_md=sha256\ndefault_crl_days=25567\ncrlnumber=%s.number\n' "$name" "$name" > list.conf
    : > "$name.index"; echo 01 > "$name.number"
    for revoked; do openssl ca -config list.conf -keyfile "$issuer.key" -cert "$issuer.pem" -revoke "$revoked.pem"; done
    openssl ca -config list.conf -keyfile "$issuer.key" -cert "$issuer.pem" -gencrl -out "$name.pem"
}
list root-list root
list root-list-middle root middle
list middle-list middle
rm -f ./*.csr ./*.ext ./*.key ./*.index* ./*.number* list.conf ./*.old ./*.attr
