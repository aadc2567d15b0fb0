import { useEffect, useState } from "react";
import { errorText, request } from "../connection";
import type { StudentLink } from "../protocol";
import { qrCode } from "./qrCode";

interface Props {
  /** The students whose cards are shown, in this order. */
  names: readonly string[];
  onClose: () => void;
}

/** A card for each student with the link to sign in, as text and as a QR code; to show, copy or print. */
export function SignInCards({ names, onClose }: Props) {
  const [links, setLinks] = useState<ReadonlyMap<string, string>>(new Map());
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const read = async () => {
      try {
        const found = (await (await request("api/class/links")).json()) as StudentLink[];
        setLinks(new Map(found.map(({ name, link }) => [name, link])));
      } catch (error) {
        setProblem(`The links cannot be shown: ${errorText(error)}.`);
      }
    };
    void read();
  }, []);
  return (
    <section className="class-cards" aria-label="Sign-in cards">
      <div className="class-cards-head">
        <p>Each card signs its student in. Whoever has the link can use that student&rsquo;s laboratory.</p>
        <button type="button" className="button" onClick={() => window.print()}>
          Print
        </button>
        <button type="button" className="button" onClick={onClose}>
          Back to the table
        </button>
      </div>
      {problem && <p className="class-problem">{problem}</p>}
      <ul>
        {names.map((name) => {
          const link = links.get(name);
          return link === undefined ? null : <Card key={name} name={name} link={link} />;
        })}
      </ul>
    </section>
  );
}

function Card({ name, link }: { name: string; link: string }) {
  const { path, size } = qrCode(link);
  const [isCopied, setIsCopied] = useState(false);
  const title = isCopied ? "Copied" : "Copy link";
  const copy = async () => {
    await navigator.clipboard.writeText(link);
    setIsCopied(true);
  };
  return (
    <li className="class-card">
      <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={`QR code of the link of ${name}`}>
        <path d={path} />
      </svg>
      <div>
        <h2>{name}</h2>
        <p className="class-link">{link}</p>
        {/* Browsers have a clipboard for pages on this computer or with TLS only. */}
        {window.isSecureContext && (
          <button type="button" className="button" aria-label={`${title}: ${name}`} onClick={() => void copy()}>
            {title}
          </button>
        )}
      </div>
    </li>
  );
}
