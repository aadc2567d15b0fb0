import { request } from "../connection";

/** What the server knows of a capture file. */
export async function fetched<T>(path: string, query: Record<string, string | number>): Promise<T> {
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const url = `api/packets/${path.split("/").map(encodeURIComponent).join("/")}?${parameters}`;
  return (await (await request(url)).json()) as T;
}
